"""USD files that are broken, hostile or odd."""

import sys

import pytest

import dynamics as dy
import graphsys as gs
from dynamics.__main__ import main

from .damage import damaged
from .usd import BODY, MASS, SOLID, body, file, joint, load, place, prim

pytest.importorskip("pxr", reason="usd-core is not installed")

DRIVE, DRIVES = "float drive:angular:physics:damping = -1", ("PhysicsDriveAPI:angular",)
TRIANGLE = "point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\nint[] faceVertexCounts = [3]\n"


def mesh(corners):
    """A body that is a mesh of three points."""
    parts = TRIANGLE, f"int[] faceVertexIndices = {corners}"
    return file(prim("Mesh", "a", *parts, apis=(BODY, SOLID)))


@pytest.mark.parametrize(
    "text, match",
    [
        ("hello", "robot.usda: OpenUSD refuses it: .*not a valid usda layer"),
        ('#usda 1.0\ndef Xform "a" {', "robot.usda: OpenUSD refuses it: robot.usda:2:.*Expected }"),
        (file(), "robot.usda has no rigid body: no prim has the PhysicsRigidBodyAPI"),
        (file(body("a"), meters=-1), "metersPerUnit is -1.0, and must be positive"),
        (file(body("a", mass=-2)), "body 'a' has the mass -2.0, which is negative"),
        (file(prim("Xform", "a", apis=(BODY,))), "link 'a' moves and has no mass"),
        (file(body("a", at=place(scale=(0, 1, 1)))), "/a is scaled to nothing along some axis"),
        (
            file(prim("Sphere", "a", "double radius = 0", apis=(BODY, SOLID))),
            "robot.usda: /a: radius of Sphere must be positive",
        ),
        (
            mesh([0, 1, 7]),
            "/a has faces of points that it has not: there are 3",
        ),
        (
            mesh([0, 1]),
            "/a: faceVertexCounts do not add up",
        ),
        (
            mesh([0, 1, 2]),
            "/a is open and has no volume: give its body mass and inertia",
        ),
        (file(body("a"), joint("Fixed", "j", "", "")), "joint 'j' joins the world with itself"),
        (file(body("a"), joint("Fixed", "j", "/a", "/a")), "joint 'j' joins 'a' with itself"),
        (file(body("a"), joint("Fixed", "j", "/b", "/a")), "joint 'j' names no prim: '/b'"),
        (
            file(body("a"), joint("Revolute", "j", "", "/a", "float physics:lowerLimit = 3",
                                  "float physics:upperLimit = 1", axis="X")),
            "joint 'j' has the limits 3.0 and 1.0",
        ),
        (
            file(body("a"), joint("Revolute", "j", "", "/a", DRIVE, axis="X", apis=DRIVES)),
            "the drive of joint 'j' has a negative stiffness",
        ),
        (
            file(body("a"), prim("PhysicsScene", "s", "float physics:gravityMagnitude = inf")),
            "/s: gravity is inf",
        ),
        (mesh([0, 1, 2]).replace("(1, 0, 0)", "(nan, 0, 0)"), "points that are not finite numbers"),
        (mesh([0, 1, 2]).replace("(1, 0, 0)", "(inf, 0, 0)"), "points that are not finite numbers"),
        (mesh([0, 1, 1]), "/a encloses nothing"),
        (file(prim("Sphere", "a", "double radius = inf", apis=(BODY, SOLID))), "its radius is inf"),
        (
            file(body("a", at=place((float("inf"), 0, 0)))),
            "/a has a transform with no numbers",
        ),
        (file(body("a", mass="inf")), "body 'a' has the mass inf"),
        (file(body("a", mass="nan")), "robot.usda: /a.physics:mass is no number"),
        (
            file(body("a"), joint("Revolute", "j", "", "/a", "float physics:lowerLimit = nan")),
            "robot.usda: /j.physics:lowerLimit is no number",
        ),
        (
            file(body("a"), joint("Revolute", "j", "", "/a", axis="Q")),
            "joint 'j' has the axis 'Q', and must have X, Y or Z",
        ),
        (file(body("a"), up="X"), "upAxis is 'X', and must be Y or Z"),
        (
            file(body("a"), joint("Revolute", "j", "", "/a", DRIVE.replace("-1", "inf"), axis="X",
                                  apis=DRIVES)),
            "the drive of joint 'j' has",
        ),
        (
            file(prim("Material", "m", "float physics:staticFriction = -1",
                      apis=("PhysicsMaterialAPI",)),
                 body("a", prim("Sphere", "s", "rel material:binding = </m>",
                                apis=(SOLID, "MaterialBindingAPI")))),
            "/m has the friction -1.0",
        ),
        (
            file(prim("Sphere", "a", 'string radius = "wide"', apis=(BODY, SOLID))),
            "robot.usda: /a.radius must be a double, not 'wide'",
        ),
        (
            file(prim("Cylinder", "a", 'uniform token axis = "W"', apis=(BODY, SOLID))),
            "/a has the axis 'W', and must have X, Y or Z",
        ),
        (file(prim("Xform", "a", meta="prepend references = @/etc/passwd@")), "lies outside the"),
        (file(prim("Xform", "a", meta="prepend references = @../x.usda@")), "lies outside the"),
        (file(prim("Xform", "a", meta="prepend payload = @http://x.y/z.usda@")), "lies outside"),
        (file(body("a"), more="subLayers = [@/etc/x.usda@]"), "lies outside the robot's folder"),
        (file(prim("Xform", "a", meta="prepend references = @robot.usda@</a>")), "Cycle detected"),
        (
            file(prim("Xform", "a", meta="prepend references = @x.usdz@")),
            ".usdz archives are not read",
        ),
    ],
)  # fmt: skip
def test_broken_files_are_refused_by_label(tmp_path, text, match):
    with pytest.raises(ValueError, match=match):
        load(tmp_path, text)


def test_names_that_are_not_utf8_are_refused(tmp_path):
    (tmp_path / "a.usda").write_bytes(file(body("Arm\xe9")).encode("latin-1"))
    with pytest.raises(ValueError, match=r"^a.usda holds names that are not UTF-8"):
        dy.load(tmp_path / "a.usda")


def test_a_missing_layer_is_named(tmp_path):
    text = file(prim("Xform", "a", meta="prepend references = @./arm.usda@"))
    with pytest.raises(FileNotFoundError, match=r"layer './arm.usda': there is no file 'arm.usda'"):
        load(tmp_path, text)


def test_layers_above_the_file_need_the_folder_that_the_user_names(tmp_path):
    (tmp_path / "arm.usda").write_text(file(body("arm"), more='defaultPrim = "arm"'))
    (tmp_path / "robots").mkdir()
    text = file(prim("Xform", "a", meta="prepend references = @../arm.usda@"))
    with pytest.raises(ValueError, match="lies outside the robot's folder"):
        load(tmp_path / "robots", text)
    assert list(load(tmp_path / "robots", text, within=tmp_path).bodies) == ["a"]


def test_stages_that_stand_for_too_many_prims_are_refused_before_they_are_composed(tmp_path):
    def reference(name, other):
        return prim("Xform", name, meta=f"prepend references = {other}")

    inside = [
        prim("Xform", f"p{k}", *(reference(f"x{j}", f"</p{k + 1}>") for j in range(4)))
        for k in range(20)
    ]
    with pytest.raises(ValueError, match=r"stands for .e\+12 prims by its references"):
        load(tmp_path, file(*inside, prim("Xform", "p20")))
    for k in range(20):
        others = [reference(f"x{j}", f"@p{k + 1}.usda@") for j in range(4)] if k < 19 else []
        text = file(prim("Xform", "a", *others), more='defaultPrim = "a"')
        (tmp_path / f"p{k}.usda").write_text(text)
    with pytest.raises(ValueError, match=r"p0.usda stands for .e\+1. prims by its references"):
        dy.load(tmp_path / "p0.usda")
    deep = 'def Xform "a"\n{\n' * 500 + "}\n" * 500
    with pytest.raises(ValueError, match="nests prims more than 200 deep"):
        load(tmp_path, file(deep))


def test_a_file_that_is_mended_is_read_again(tmp_path):
    errors = []
    for text in (file(body("a", mass=-1)), "hello", file(body("a", mass=3))):
        try:
            found = load(tmp_path, text)
        except ValueError as error:
            errors.append(error)  # its traceback holds the stage

    assert len(errors) == 2 and found.bodies["a"].mass == 3.0


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    (tmp_path / "robot.usda").write_text(file(body("a")))
    for name in [name for name in sys.modules if name.split(".")[0] == "pxr"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pxr", None)
    with pytest.raises(gs.MissingExtraError, match=r"a USD file needs usd-core.*graphsys\[usd\]"):
        dy.load(tmp_path / "robot.usda")


def test_openusd_prints_nothing(tmp_path, capfd):
    odd = prim("Xform", "a", apis=(BODY, MASS))  # no mass, no shape: a warning of OpenUSD
    with pytest.raises(ValueError, match="link 'a' moves and has no mass"):
        load(tmp_path, file(odd))
    captured = capfd.readouterr()

    assert captured.out == "" and captured.err == ""


def test_the_command_line_reads_usd(tmp_path, capsys):
    text = file(body("a"), body("b"), joint("Revolute", "j", "/a", "/b", axis="X"))
    (tmp_path / "arm.usda").write_text(text)

    assert main(["info", str(tmp_path / "arm.usda")]) == 0
    assert "revolute joints" in capsys.readouterr().out
    (tmp_path / "arm.usda").write_text("hello")
    assert main(["info", str(tmp_path / "arm.usda")]) == 1
    assert "error: arm.usda: OpenUSD refuses it" in capsys.readouterr().err


WHOLE = file(
    prim("PhysicsScene", "scene", "float physics:gravityMagnitude = 9"),
    body("a", prim("Cube", "c", "double size = 1", apis=(SOLID,)), at=place((0, 0, 1))),
    body("b", prim("Sphere", "s", "double radius = 0.5", place(scale=(1, 2, 1)))),
    prim("Mesh", "m", TRIANGLE, "int[] faceVertexIndices = [0, 1, 2]", apis=(SOLID,)),
    joint("Revolute", "j", "/a", "/b", DRIVE.replace("-1", "2"), "float physics:lowerLimit = -30",
          axis="X", apis=DRIVES, pos0=(0, 0, 1), rot1=(0.6, 0.8, 0, 0)),
    joint("Fixed", "w", "", "/a", pos1=(0, 0, 2)),
)  # fmt: skip


@pytest.mark.parametrize("seed", range(100))
def test_damaged_files_load_or_are_refused(tmp_path, seed):
    try:
        load(tmp_path, damaged(WHOLE, seed), ground=seed % 2 == 0)
    except (ValueError, FileNotFoundError) as error:
        assert str(error).startswith("robot.usda")
