"""SDF files that are broken, hostile or odd."""

import pytest

import dynamics as dy
from dynamics.__main__ import main
from dynamics.io.sdf import building

from .damage import damaged
from .sdf import at, joint, link, load, model, named, world

A, B = link("a"), link("b")
DAMPED = "<dynamics><damping>-1</damping></dynamics>"
LIMIT = "<limit><lower>{}</lower><upper>{}</upper></limit>"
ROTOR = "<drake:rotor_inertia>-1</drake:rotor_inertia>"
GAINS = '<drake:controller_gains p="-1" d="0"/>'
PLANAR = (
    '<drake:joint name="k" type="planar"><drake:parent>a</drake:parent><drake:child>b'
    "</drake:child><drake:damping>-1 0 0</drake:damping></drake:joint>"
)
PLANE = '<collision name="c"><geometry><plane><normal>0 0 0</normal></plane></geometry></collision>'
BITS = "<surface><contact><collide_bitmask>x</collide_bitmask></contact></surface>"
SLIPPERY = "<surface><friction><ode><mu>-1</mu></ode></friction></surface>"
SWAPPED = "<limit><lower>2</lower><upper>1</upper></limit>"
BOX = '<collision name="c"><geometry><box><size>{}</size></box></geometry></collision>'


@pytest.mark.parametrize(
    "text, match",
    [
        ("<robot/>", "the root of an SDF file is <sdf>, not <robot>"),
        ("<sdf/>", "has the version '', and must have one like 1.9"),
        ('<sdf version="1.0"/>', "is SDF 1.0; from 1.2 on"),
        ('<sdf version="1.9"/>', "robot.sdf has no link"),
        ('<sdf version="1.9"><world name="a"/><world name="b"/></sdf>', "one world, or models"),
        (model(), "robot.sdf has no link"),
        (model(A, A), "model 'robot' has two elements called 'a'"),
        (model(A, joint("a", "ball", "world", "a")), "two elements called 'a'"),
        (model('<link name="x::y"/>'), "is called 'x::y'; :: is for names in other models"),
        (model("<link/>"), "model 'robot': a link: <link> has no name"),
        (model(link("a", pose=at("0 0 0 0 0 0", "c"))), "has no frame 'c'; there are .'a'"),
        (model(link("a", pose="1 2 3")), "link 'a': <pose> must be 6 finite numbers, not '1 2 3'"),
        (model(link("a", pose="1 2 nan 0 0 0")), "must be 6 finite numbers"),
        (model(link("a", pose='<pose rotation_format="axis">0</pose>')), "rotation_format 'axis'"),
        (
            model(link("a", pose='<pose rotation_format="quat_xyzw">0 0 0 0 0 0 0</pose>')),
            "the quaternion 0",
        ),
        (
            model(link("a", pose=at("0 0 0 0 0 0", "b")), link("b", pose=at("0 0 0 0 0 0", "a"))),
            "poses form a cycle: a -> b -> a",
        ),
        (
            model(A, '<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>'),
            "form a cycle: f -> g -> f",
        ),
        (model(link("a", mass=-1)), "link 'a' has the mass -1.0, which is negative"),
        (model(link("a", mass="heavy")), "<mass> must be a finite number, not 'heavy'"),
        (model(link("a", mass=0)), "link 'a' moves and has no mass"),
        (model(link("a", inertia=(-1, 1, 1))), "one of them negative"),
        (model(link("a", center=at("0 0 0 0 0 0", "b")), B), "is relative to its link, not 'b'"),
        (model(link("a", more=BOX.format("1 0 1"))), "link 'a', collision 'c': y of Box"),
        (model(link("a", more=BOX.format("1 1"))), "<size> must be 3 finite numbers, not '1 1'"),
        (
            model(link("a", more='<visual name="v"><geometry/></visual>')),
            "link 'a', visual 'v' has no <geometry>",
        ),
        (model(link("a", more="<gravity>maybe</gravity>")), "must be true or false, not 'maybe'"),
        (model(A, B, joint("j", "wheel", "a", "b")), "joint 'j' has the unknown type 'wheel'"),
        (model(A, B, joint("j", "ball", "a", "c")), "has no frame 'c'"),
        (model(A, B, joint("j", "ball", "a", "a")), "joint 'j' joins 'a' with itself"),
        (model(A, '<joint name="j" type="ball"><child>a</child></joint>'), "'j' has no <parent>"),
        (model(A, B, joint("j", "revolute", "a", "b", "0 0 0")), "axis: the axis is zero"),
        (
            model(A, B, joint("j", "revolute", "a", "b", "1 0 0", DAMPED)),
            "damping is -1.0: it would add energy",
        ),
        (
            model(A, B, joint("j", "revolute", "a", "b", "1 0 0", SWAPPED)),
            "lower limit 2.0 is above the upper one 1.0",
        ),
        (
            model(A, B, joint("j", "screw", "a", "b", more="<thread_pitch>0</thread_pitch>")),
            "a screw needs a thread_pitch that is not 0",
        ),
        (
            model(A, B, joint("j", "revolute", "a", "b", "1 0 0", LIMIT.format("inf", "inf"))),
            "joint 'j', axis: its limits are both inf",
        ),
        (
            model(A, B, joint("j", "revolute", "a", "b", "1 0 0", LIMIT.format("low", "1"))),
            "<limit/lower> must be a number, not 'low'",
        ),
        (
            model(A, B, joint("j", "revolute", "a", "b", more=ROTOR)),
            "the inertia of its rotor is -1.0",
        ),
        (model(A, B, joint("j", "revolute", "a", "b", more=GAINS)), "joint 'j': stiffness of a"),
        (model(A, B, joint("j", "gearbox", "a", "b")), "has no <gearbox_reference_body>"),
        (model(A, B, joint("j", "universal", "a", "b")), "'j' has two axes that are parallel"),
        (model(A, B, PLANAR), "joint 'k': damping is .* would add energy"),
        (
            model(A, "<static>1</static>").replace(A, link("a", more=PLANE)),
            "the normal of the plane is zero",
        ),
        (
            model(link("a", more=BOX.format("1 1 1").replace("</c", BITS + "</c"))),
            "<collide_bitmask> must be a number up to 0xffffffff, not 'x'",
        ),
        (
            model(link("a", more=BOX.format("1 1 1").replace("</c", SLIPPERY + "</c"))),
            "a coefficient of friction is negative: -1.0",
        ),
        (model(link("a", more=BOX.format("").replace("box", "mesh"))), "<mesh> has no <uri>"),
        (model(link("a", more=BOX.format("").replace("box", "sphere"))), "has no <radius>"),
        (model(A, "<include><uri>leg</uri><placement_frame>f</placement_frame></include>"),
         "<placement_frame> needs a <pose>"),
        (model(A, "<include><uri>leg</uri><name>a</name></include>"), "give <include> a <name>"),
        (
            model(A, '<include merge="1"><uri>leg</uri><static>1</static></include>'),
            "a static model cannot be merged into one that moves",
        ),
        (world('<frame name="f" attached_to="m"/>', named("m"), named("n", A)), "has no link"),
        (model(A, "<include/>"), "an <include> has no <uri>"),
        (model(A, "<include><uri>../x</uri></include>"), "'../x' lies outside the robot's folder"),
        (model(A, "<include><uri>/etc/x</uri></include>"), "lies outside the robot's folder"),
        (model(A, "<include><uri>file:///etc/x</uri></include>"), "lies outside the robot's"),
        (
            model(A, "<include><uri>https://fuel.gazebosim.org/x</uri></include>"),
            "lies on the network, which is not asked",
        ),
        ('<!DOCTYPE s [<!ENTITY a "b">]><sdf version="1.9"/>', "document type or entities"),
        (world(named("m", A), named("m", B)), "the world has two elements called 'm'"),
        (
            '<sdf version="1.9">' + "<model name='m'>" * 60 + A + "</model>" * 60 + "</sdf>",
            "models nest more than 20 deep",
        ),
    ],
)  # fmt: skip
def test_broken_files_are_refused_by_label(tmp_path, text, match):
    (tmp_path / "leg").mkdir()
    (tmp_path / "leg" / "model.sdf").write_text(model(link("foot"), name="leg"))
    with pytest.raises(ValueError, match=match):
        load(tmp_path, text)


def test_a_missing_include_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="include of 'model://leg': there is no model"):
        load(tmp_path, model(A, "<include><uri>model://leg</uri></include>"))


@pytest.mark.parametrize(
    "config, error, match",
    [
        ("<model/>", ValueError, "leg/model.config names no <sdf>"),
        ("<model><sdf>leg.sdf</sdf></model>", FileNotFoundError, "names 'leg.sdf', which is not"),
        ("<model><sdf>../robot.sdf</sdf></model>", ValueError, "lies outside the robot's folder"),
    ],
)
def test_broken_configs_of_models_are_refused(tmp_path, config, error, match):
    (tmp_path / "leg").mkdir()
    (tmp_path / "leg" / "model.config").write_text(config)
    with pytest.raises(error, match=match):
        load(tmp_path, model(A, "<include><uri>model://leg</uri></include>"))


def test_files_that_include_themselves_are_refused(tmp_path):
    inner = model("<include><uri>robot.sdf</uri></include>", name="m")
    (tmp_path / "leg.sdf").write_text(inner)
    with pytest.raises(ValueError, match="robot.sdf includes itself"):
        load(tmp_path, model(A, "<include><uri>leg.sdf</uri></include>"))
    with pytest.raises(ValueError, match="robot.sdf includes itself"):
        load(tmp_path, model(A, '<include merge="true"><uri>leg.sdf</uri></include>'))


def test_includes_that_multiply_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(building, "MOST", 100)
    for k in range(6):
        more = f"<include><uri>m{k + 1}.sdf</uri><name>n{{}}</name></include>" if k < 5 else ""
        parts = [more.format(j) for j in range(4)]
        (tmp_path / f"m{k}.sdf").write_text(model(A, *parts, name="m"))
    with pytest.raises(ValueError, match="or are more than 100"):
        dy.load(tmp_path / "m0.sdf")
    monkeypatch.setattr(building, "MOST_BYTES", 100)
    with pytest.raises(ValueError, match="includes are more than 0 MB in all"):
        dy.load(tmp_path / "m0.sdf")


def test_included_files_are_checked_as_the_first_one(tmp_path):
    (tmp_path / "leg.sdf").write_text('<!DOCTYPE s [<!ENTITY a "b">]><sdf version="1.9"/>')
    with pytest.raises(ValueError, match="leg.sdf declares a document type"):
        load(tmp_path, model(A, "<include><uri>leg.sdf</uri></include>"))
    (tmp_path / "leg.sdf").write_text(world(named("m", A)))
    with pytest.raises(ValueError, match="leg.sdf must hold one model, not .'world'"):
        load(tmp_path, model(A, "<include><uri>leg.sdf</uri></include>"))


def test_links_to_other_folders_are_refused(tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "leg.sdf").write_text(model(A, name="leg"))
    (tmp_path / "robots").mkdir()
    (tmp_path / "robots" / "leg.sdf").symlink_to(tmp_path / "secret" / "leg.sdf")
    text = model(B, "<include><uri>leg.sdf</uri></include>", joint("j", "ball", "b", "leg::a"))
    with pytest.raises(ValueError, match="lies outside the robot's folder"):
        load(tmp_path / "robots", text)
    assert "leg::a" in load(tmp_path / "robots", text, within=tmp_path).bodies


def test_long_chains_of_frames_are_resolved(tmp_path):
    frames = [f'<frame name="f{k}">{at("0 0 1 0 0 0", f"f{k + 1}")}</frame>' for k in range(3000)]
    mechanism = load(tmp_path, model(A, *frames, '<frame name="f3000"/>'))

    assert mechanism.frames["f0"].position.tolist() == [0, 0, 3000]


def test_old_files_may_call_a_joint_as_its_link(tmp_path):
    text = model(A, B, joint("b", "revolute", "a", "b", "0 1 0"), version="1.6")
    mechanism = load(tmp_path, text)

    assert list(mechanism.joints) == ["b"] and list(mechanism.bodies) == ["a", "b body"]


def test_blanks_before_the_declaration_do_no_harm(tmp_path):
    text = model(A)
    assert list(load(tmp_path, '\n <?xml version="1.0"?>' + text).bodies) == ["a"]
    with pytest.raises(ValueError, match="in line 3"):
        load(tmp_path, "\n\n<sdf></b>")


def test_the_command_line_reads_sdf(tmp_path, capsys):
    text = model(A, B, joint("j", "revolute", "a", "b", "0 1 0"), joint("w", "fixed", "world", "a"))
    (tmp_path / "arm.sdf").write_text(text)

    assert main(["info", str(tmp_path / "arm.sdf")]) == 0
    assert "revolute joints" in capsys.readouterr().out
    (tmp_path / "arm.sdf").write_text(model(A, B, joint("j", "ball", "a", "c")))
    assert main(["info", str(tmp_path / "arm.sdf")]) == 1
    assert "error: arm.sdf: model 'robot' has no frame 'c'" in capsys.readouterr().err


def test_nothing_is_loaded_of_a_world_that_is_static(tmp_path):
    text = model(A, "<static>true</static>")
    mechanism = load(tmp_path, text)

    assert not mechanism.bodies
    with pytest.raises(ValueError, match="no body"):
        mechanism.finalize(timestep=0.01)
    assert isinstance(mechanism, dy.Mechanism)


WHOLE = world(
    named(
        "m", at("0 0 1 0 0 0.5"), link("a", more=BOX.format("1 1 1")),
        link("b", pose=at("1 0 0 0 0 0", "j")),
        joint("j", "revolute", "a", "b", "0 1 0", LIMIT.format("-1", "1"), at("0 0 1 0 0 0", "f")),
        joint("k", "universal", "b", "n::c", "1 0 0", more="<axis2><xyz>0 1 0</xyz></axis2>"),
        '<frame name="f" attached_to="a"><pose relative_to="__model__">0 1 0 0 0 0</pose></frame>',
        named("n", link("c"), more=' placement_frame="c"'),
    ),
    named("g", "<static>true</static>", f'<link name="l">{PLANE.replace("0 0 0", "0 0 1")}</link>'),
)  # fmt: skip


@pytest.mark.parametrize("seed", range(100))
def test_damaged_files_load_or_are_refused(tmp_path, seed):
    try:
        load(tmp_path, damaged(WHOLE, seed), collide=seed % 2 == 0)
    except (ValueError, FileNotFoundError) as error:
        assert str(error).startswith("robot.sdf")


def test_of_elements_that_are_there_twice_the_first_counts_and_others_are_named(tmp_path):
    axes = "<axis><xyz>1 0 0</xyz></axis><axis><xyz>0 1 0</xyz></axis>"
    heavy = "<inertial><mass>9</mass></inertial>"
    mechanism = load(tmp_path, model(A, link("b", more=heavy),
                                     joint("j", "revolute", "a", "b", more=axes)))  # fmt: skip
    assert mechanism.bodies["b"].mass == 1.0
    assert mechanism.joints["j"].positions[0].axis.tolist() == [1, 0, 0]
    left = {"second <inertial> of <link>": ["b"], "second <axis> of <joint>": ["j"]}
    assert mechanism.report.left_out == left
