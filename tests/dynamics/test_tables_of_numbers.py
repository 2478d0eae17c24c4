"""Places of numbers in arrays that kernels share: declared once, without gaps or overlaps."""

from types import ModuleType

import pytest

import dynamics as dy
from dynamics.kernels.base import run_totals, settings, status, step_info
from dynamics.kinematics.diagnosis import WENT_WRONG


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
