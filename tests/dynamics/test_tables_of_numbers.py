"""Places of numbers in arrays that kernels share: declared once, without gaps or overlaps."""

import inspect
import re
from types import ModuleType

import numpy as np
import pytest

import dynamics as dy
from dynamics.derivatives.tangents import Tangent
from dynamics.kernels.base import layout, run_totals, settings, status, step_info
from dynamics.kernels.base.arguments import Motion, Node, Work
from dynamics.kernels.derivatives import arguments as derivatives
from dynamics.kernels.derivatives.contacts import BENDS, W_SIZE
from dynamics.kernels.galerkin.arguments import Nodes, Rule, StageSolver, StageWork
from dynamics.kernels.galerkin.predictor import DIFFERENCES
from dynamics.kernels.stepping import step
from dynamics.kinematics.diagnosis import WENT_WRONG
from dynamics.tables import galerkin, records


def places_of(module: ModuleType) -> dict[str, int]:
    """Constants of a module by name."""
    return {name: value for name, value in vars(module).items() if name.isupper()}


@pytest.mark.parametrize(
    ("module", "size"),
    [(step_info, "INFO_SIZE"), (settings, "SETTINGS_SIZE"), (run_totals, "TOTALS_SIZE")],
)
def test_places_are_disjoint_and_fill_the_array(module, size):
    """A place without a size of its own holds one number."""
    places = places_of(module)
    total = places.pop(size)
    lengths = {name: places.get(f"{name}_SIZE", 1) for name in places if not name.endswith("_SIZE")}

    taken = [places[name] + i for name, length in lengths.items() for i in range(length)]

    assert sorted(taken) == list(range(total))


def test_every_status_has_a_sentence():
    assert set(places_of(status).values()) == set(WENT_WRONG)


def test_settings_of_a_model_are_what_the_user_gave():
    mechanism = dy.Mechanism()
    mechanism.add_contact(mechanism.add_body(dy.Sphere(0.1, mass=1.0)))
    model = mechanism.finalize(
        0.01, tolerance=1e-11, barrier=2e-9, contact_tolerance=3e-8, energy_audit="off"
    )

    first = model.settings[: settings.SETTINGS_SIZE]

    assert first[settings.TOLERANCE] == 1e-11
    assert first[settings.BARRIER] == 2e-9
    assert first[settings.CONTACT_TOLERANCE] == 3e-8
    assert first[settings.ENERGY_SHARE] == 0.0


def shapes_of(declared: type, sizes: dict[str, int]) -> dict[str, int]:
    """Lengths of the fields of a named tuple, from the comments next to them."""
    found = re.findall(r"^ +(\w+): Any  # (.*?),\): ", inspect.getsource(declared), re.MULTILINE)
    names = declared._fields
    assert [name for name, _ in found] == list(names)
    product = re.compile(r"(?<=[\w)]) (?=[\w(])")  # "7 (n + 1)" is a product
    return {name: eval(product.sub("*", f"{text})"), {}, dict(sizes)) for name, text in found}


def model_of_everything():
    """A model with contacts, users' forces and stiff ones."""
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.1, mass=1.0))
    rod = mechanism.add_body(dy.Box(0.1, 0.1, 1.0, mass=1.0))
    mechanism.add_contact(ball, friction=0.5, cone=4)
    mechanism.add_joint(
        dy.Revolute(mechanism.world, rod, (0, 1, 0), servo=dy.PositionServo(10.0, 1.0))
    )
    return mechanism.finalize(0.01)


def test_shapes_of_named_tuples_are_those_of_the_workspace():
    model = model_of_everything()
    plan = model.tables.plan
    n, rows = int(plan[layout.BODIES]), int(plan[layout.ROWS])
    sizes = {"n": n, "m": 6 * n, "r": rows, "N": 6 * n + rows, "R": int(plan[layout.ALL_ROWS])}
    sizes |= {"SLOTS": int(plan[layout.SLOTS]), "STIFF_NUMBERS": int(plan[layout.STIFF_NUMBERS])}
    sizes |= {"STORED": layout.STORED, "CONTACT_WORK": layout.CONTACT_WORK}
    sizes |= {"ISLAND_SIZE": layout.ISLAND_SIZE}
    sizes |= {"contacts": int(plan[layout.CONTACTS]), "DELASSUS_WORK": layout.DELASSUS_WORK}
    assert min(sizes["SLOTS"], sizes["STIFF_NUMBERS"], sizes["contacts"]) > 0

    node, length = step.node_of(plan, model.workspace.work, 0)

    assert {name: array.size for name, array in node._asdict().items()} == shapes_of(Node, sizes)
    motion = shapes_of(Motion, sizes)
    assert 7 * n + sum(motion.values()) == model.state_size
    work = shapes_of(Work, sizes)
    past, columns = work.pop("past"), 2 * layout.COLUMNS * sizes["N"]
    states = 2 * model.state_size  # at the start of a step, and after its last interval
    total = 2 * length + sum(work.values()) + 2 * past + states + columns
    assert total == plan[layout.WORK_SIZE]


#: Records of `layout`: first place and size by name.
RECORDS = {
    "plan": ("BODIES", "HEADER"),
    "group": ("A", "GROUP_FIELDS"),
    "row": ("KIND", "ROW_FIELDS"),
    "contact": ("CONTACT_KIND", "CONTACT_FIELDS"),
    "contact work": ("W_AT", "CONTACT_WORK"),
    "friction block": ("BETA", "BLOCK"),
}


def lengths_between(first: str, size: str) -> tuple[list[tuple[int, int]], int]:
    """Place and length of each field that is declared from one constant to another."""
    source = inspect.getsource(layout)
    text = source[source.index(f"\n{first} = " if first != "A" else "\nA, B = ") :]
    text = text[: text.index(f"\n{size} = ") + 1]
    product, fields = re.compile(r"(?<=[\w)]) (?=[\w(])"), []
    for values, shape in re.findall(
        r"^[A-Z0-9_, ]+ = ([\d, ]*\d)(?:  # \((.*?),\): .*)?", text, re.MULTILINE
    ):
        for value in values.split(","):
            length = eval(product.sub("*", shape), {}, vars(layout)) if shape else 1
            fields.append((int(value), length))
    return fields, layout.__dict__[size]


@pytest.mark.parametrize("record", RECORDS)
def test_fields_of_a_record_fill_it(record):
    fields, size = lengths_between(*RECORDS[record])
    taken = [place + i for place, length in fields for i in range(length)]
    if record == "contact":  # bodies come first, as in a group
        taken = [layout.A, layout.B, *taken]
    assert taken == list(range(size))


def test_nearest_points_take_the_place_that_info_has_for_them():
    fields, _ = lengths_between("DISTANCE_AT", "SLOPES")
    taken = [place + i for place, length in fields for i in range(length)]
    assert taken == list(range(step_info.NEAREST_SIZE))


@pytest.mark.parametrize(
    ("record", "size"),
    [
        (records.HEADER, layout.HEADER),
        (records.BODY, layout.BODY_SIZE),
        (records.GROUP, layout.GROUP_FIELDS),
        (records.GROUP_CONSTANTS, layout.GROUP_SIZE),
        (records.ROW, layout.ROW_FIELDS),
        (records.ROW_CONSTANTS, layout.ROW_SIZE),
    ],
)
def test_fields_of_records_are_at_the_places_of_the_layout(record, size):
    """The last field ends where the record does."""
    assert record.itemsize == 8 * size
    for name, (_, offset, *_) in record.fields.items():
        assert offset == 8 * getattr(layout, name.upper())


@pytest.mark.parametrize(
    ("record", "size"),
    [
        (records.CONTACT, layout.CONTACT_FIELDS),
        (records.CONTACT_CONSTANTS, layout.CONTACT_SIZE),
    ],
)
def test_records_of_contacts_are_as_long_as_the_layout_says(record, size):
    assert record.itemsize == 8 * size


def declared(tuple_type: type, sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Shapes of those fields of a named tuple that declare one, from the comments next to them."""
    source = inspect.getsource(tuple_type)
    found = re.findall(r"^ +(\w+): Any  # (\(.*?\))(?::|$)", source, re.MULTILINE)
    product = re.compile(r"(?<=[\w)]) (?=[\w(])")  # "7 (n + 1)" is a product
    return {
        name: eval(product.sub("*", shape).replace("^", "**"), {}, dict(sizes))
        for name, shape in found
    }


@pytest.mark.parametrize("order", [2, 4, 6])
def test_shapes_of_named_tuples_of_galerkin_steps_are_those_of_their_arrays(order):
    model, _ = dy.zoo.double_pendulum()
    stages = galerkin.Stages(model.tables, order)
    rule, _, _, nodes, x, _, table, (r, dx, kept, mu, f, L, C, K, E, W), driven, _ = stages.work()
    n, rows = model.n_bodies, model.n_rows
    sizes = {"s": order // 2, "n": n, "m": 6 * n, "N": 6 * n + rows}
    sizes |= {"DIFFERENCES": DIFFERENCES, "STORED": layout.STORED, "controls": model.n_controls}
    sizes["R"] = int(model.tables.plan[layout.ALL_ROWS])
    solver, (*_, mixed) = stages.solver()
    sizes["nnz"] = stages.symbolic.graph.nnz
    made = [
        Rule(stages.s, *rule),
        Nodes(*nodes),
        StageWork(x, table, r, dx, kept, mu, f, driven, L, C, K, E, W),
    ]
    for one in made:
        expected = declared(type(one), sizes)
        assert {name: getattr(one, name).shape for name in expected} == expected
        assert set(one._fields) - expected.keys() <= {"s"}
    assert solver[0].shape == declared(StageSolver, sizes)["values"]
    assert mixed.shape == declared(StageSolver, sizes)["rhs"]


def test_shapes_of_named_tuples_of_derivatives_are_those_of_their_arrays():
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.1, mass=1.0), position=(0.0, 0.0, 0.1))
    mechanism.add_joint(dy.PlanarAxis(mechanism.world, ball, (0, 1, 0), actuated=True))
    mechanism.add_contact(ball)
    model, k = mechanism.finalize(0.01), 5
    tangent, state = Tangent(model, k), model.initial_state()
    sizes = {"n": 1, "m": 6, "r": model.n_rows, "N": 6 + model.n_rows, "k": k}
    sizes |= {"SLOTS": int(model.tables.plan[layout.SLOTS]), "BENDS": BENDS, "W_SIZE": W_SIZE}
    sizes |= {"NEAREST_SIZE": step_info.NEAREST_SIZE, "controls": model.n_controls}
    given = tangent._given(
        state, 0.01, 1.0, np.zeros(model.n_controls), np.zeros(0), np.zeros(sizes["N"]),
        np.zeros(6), state.contacts.copy(),
    )  # fmt: skip
    made = [
        derivatives.Solution(np.zeros(sizes["N"]), state.interval_velocity.ravel(), state.contacts),
        derivatives.Given(*given),
        derivatives.Curvature(
            tangent._work[156:], tangent._H, tangent._work[:12], tangent._work[12:156]
        ),
        derivatives.ContactWork(*tangent._touch),
        derivatives.Factors(*tangent._solver),
        derivatives.Columns(tangent._b, tangent._d, tangent._dx),
    ]
    sizes["nnz"] = model.symbolic.graph.nnz
    for one in made:
        expected = declared(type(one), sizes)
        assert {name: getattr(one, name).shape for name in expected} == expected
        assert set(one._fields) - expected.keys() <= {
            "work", "magnitude", "factors", "workspace", "status"
        }  # fmt: skip
