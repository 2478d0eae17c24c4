"""Files of strangers, and files that cannot be written to their end."""

import errno
import io
import os
import pickle
import time
import zipfile

import numpy as np
import pytest

import dynamics as dy
import graphsys as gs
from dynamics import archive
from dynamics.__main__ import main as dynamics_command
from dynamics.parts.geometry import Mesh
from dynamics.parts.meshes import corners_of, found, triangles_of
from dynamics.zoo import double_pendulum
from graphsys.__main__ import main as graphsys_command

TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
ROBOT = """<robot name="r"><link name="a"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="{}"/></geometry></visual></link></robot>"""


# Motion files


@pytest.fixture(scope="module")
def motion():
    model, state = double_pendulum()
    return dy.simulate(model, state, 0.2)


def arrays_of(motion):
    stream = io.BytesIO()
    motion.save(stream)
    stream.seek(0)
    with np.load(stream) as file:
        return {name: file[name] for name in file.files}


def packed(array):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), allow_pickle=True)
    return stream.getvalue()


def write_archive(path, entries, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in entries.items():
            file.writestr(f"{name}.npy", data)


def header(text):
    """An array's file with any header at all."""
    text = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


HOSTILE = {
    "more arrays": lambda kept: kept | {"more": packed(np.zeros(3))},
    "fewer arrays": lambda kept: {k: v for k, v in kept.items() if k != "time"},
    "objects": lambda kept: kept | {"states": packed(np.array([[{}]], object))},
    "single precision": lambda kept: kept | {"states": packed(np.zeros((21, 2), "f4"))},
    "another version": lambda kept: kept | {"version": packed(2)},
    "no numbers": lambda kept: kept | {"time": b""},
    "cut": lambda kept: kept | {"states": kept["states"][:-100]},
    "a shape of more than there is": lambda kept: (
        kept
        | {"states": header("{'descr': '<f8', 'fortran_order': False, 'shape': (99, 1 << 40)}")}
    ),
    "a header that is no Python": lambda kept: kept | {"time": header("{'descr': (((")},
    "a header of words": lambda kept: kept | {"time": header("'''")},
    "a negative shape": lambda kept: (
        kept | {"time": header("{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}")}
    ),
    "other times": lambda kept: kept | {"time": packed(np.zeros(3))},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_motion_file_that_is_not_whole_gives_one_clear_error(motion, tmp_path, what):
    kept = {name: packed(array) for name, array in arrays_of(motion).items()}
    path = tmp_path / "motion.npz"
    write_archive(path, HOSTILE[what](kept))

    with pytest.raises(ValueError, match="motion.npz holds no trajectory of dynamics: "):
        dy.Trajectory.load(path, motion.model)


def test_damage_anywhere_in_a_motion_file_is_an_error_or_leaves_the_motion(motion, tmp_path):
    # zlib.error, BadZipFile, NotImplementedError, struct.error, ... all become one
    path = tmp_path / "motion.npz"
    motion.save(path)
    whole = path.read_bytes()
    random = np.random.default_rng(0)
    refused = 0
    for place in random.integers(0, len(whole), 150):
        data = bytearray(whole)
        data[place] ^= 1 << random.integers(8)
        path.write_bytes(data)
        try:
            back = dy.Trajectory.load(path, motion.model)
        except ValueError as error:
            refused += 1
            assert "holds no trajectory of dynamics" in str(error)
        else:
            assert np.array_equal(back.states, motion.states)
    assert refused > 100


def test_a_motion_file_asks_for_no_more_memory_than_it_may(motion, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "ROOM", 2**20)
    kept = {name: packed(array) for name, array in arrays_of(motion).items()}
    count = 2**20
    size = motion.states.shape[1]
    zeros = {"time": packed(np.zeros(count)), "states": packed(np.zeros((count // 64, size)))}
    path = tmp_path / "bomb.npz"
    write_archive(path, kept | zeros)

    with pytest.raises(ValueError, match="it unpacks to more than 100 times its size"):
        dy.Trajectory.load(path, motion.model)


def test_a_resting_motion_comes_back_however_well_it_packs(motion, tmp_path):
    model = motion.model
    rest = dy.Trajectory(model, np.arange(5000.0), np.tile(motion.states[0], (5000, 1)))
    rest.save(tmp_path / "rest.npz")

    back = dy.Trajectory.load(tmp_path / "rest.npz", model)

    assert np.array_equal(back.states, rest.states)


# Pickles


def test_a_flipped_bit_in_the_tables_of_a_pickled_model_is_found(motion):
    # kernels read where the plan says; what graphsys pickles is tested in graphsys/test_pickles.py
    arrays = []
    whole = pickle.dumps(motion.model.tables, protocol=5, buffer_callback=arrays.append)
    arrays = [bytearray(array.raw()) for array in arrays]
    assert np.array_equal(pickle.loads(whole, buffers=arrays).plan, motion.model.tables.plan)
    random = np.random.default_rng(0)
    for array in filter(len, arrays):
        place, bit = random.integers(len(array)), 1 << random.integers(8)
        array[place] ^= bit
        with pytest.raises(ValueError, match="is damaged: it differs from the one"):
            pickle.loads(whole, buffers=arrays)
        array[place] ^= bit


# Meshes and robot files


def test_meshes_lie_inside_the_folder_of_their_robot(tmp_path):
    folder = tmp_path / "any"
    folder.mkdir()
    (tmp_path / "secret.obj").write_text(TRIANGLE)
    (folder / "mine.obj").write_text(TRIANGLE)
    one = np.ones(3)

    assert found(Mesh("mine.obj", str(folder), one)) == (folder / "mine.obj").resolve()
    for name in ("any/secret.obj", f"{tmp_path.name}/secret.obj"):
        with pytest.raises(ValueError, match="lies outside the folder 'any' .* within="):
            found(Mesh(name, str(folder), one))
        with pytest.warns(UserWarning, match="lies outside the folder"):
            assert triangles_of(Mesh(name, str(folder), one)) is None
        with pytest.raises(ValueError, match="lies outside the folder"):
            corners_of(Mesh(name, str(folder), one))
        allowed = Mesh(name, str(folder), one, within=str(tmp_path))
        assert found(allowed) == (tmp_path / "secret.obj").resolve()


def test_links_out_of_the_folder_are_refused(tmp_path):
    folder = tmp_path / "robot"
    folder.mkdir()
    (tmp_path / "secret.obj").write_text(TRIANGLE)
    (folder / "link.obj").symlink_to(tmp_path / "secret.obj")
    (folder / "r.urdf").write_text(ROBOT.format("link.obj"))

    with pytest.raises(ValueError, match="lies outside the robot's folder"):
        dy.load(folder / "r.urdf")
    with pytest.raises(ValueError, match="lies outside"):
        found(Mesh("link.obj", str(folder), np.ones(3)))
    mechanism = dy.load(folder / "r.urdf", within=tmp_path)
    (shown,) = mechanism.bodies["a"].visuals
    assert len(triangles_of(shown.shape)) == 1


def test_links_out_of_the_folder_of_an_mjcf_file_are_refused(tmp_path, mujoco):
    folder = tmp_path / "robot"
    folder.mkdir()
    (tmp_path / "secret.obj").write_text(TRIANGLE)
    (folder / "link.obj").symlink_to(tmp_path / "secret.obj")
    (folder / "r.xml").write_text(
        '<mujoco><asset><mesh name="m" file="link.obj"/></asset><worldbody/></mujoco>'
    )
    with pytest.raises(ValueError, match="lies outside the robot's folder"):
        dy.load(folder / "r.xml")


@pytest.mark.parametrize("encoding", ["no-such", "utf-7", "rot13", "cp65001x", "big5"])
def test_encodings_that_are_not_read_are_named(tmp_path, encoding):
    path = tmp_path / "r.urdf"
    path.write_text(f'<?xml version="1.0" encoding="{encoding}"?><robot name="r"/>')

    with pytest.raises(ValueError, match="r.urdf (is in an encoding|is not well-formed|has no)"):
        dy.load(path)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ('<replicate count="1e8"><body/></replicate>', "asks for 2e.08 elements"),
        ('<replicate count="0x5F5E100"><body/></replicate>', "count of <replicate> is '0x5F5E100'"),
        (
            '<replicate count="1000"><replicate count="1000"><body/></replicate></replicate>',
            "asks for 2e.06 elements",
        ),
        ('<body><composite count="1000 1000 1"/></body>', "asks for 1e.06 elements"),
    ],
)
def test_elements_that_stand_for_millions_are_refused_at_once(tmp_path, mujoco, body, what):
    path = tmp_path / "r.xml"
    path.write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    start = time.perf_counter()

    with pytest.raises(ValueError, match=what):
        dy.load(path)
    assert time.perf_counter() - start < 5.0


def test_elements_that_stand_for_a_few_are_read(tmp_path, mujoco):
    path = tmp_path / "r.xml"
    body = '<body><joint type="slide"/><geom size="0.1"/></body>'
    path.write_text(
        f'<mujoco><worldbody><replicate count="3">{body}</replicate></worldbody></mujoco>'
    )
    assert len(dy.load(path).bodies) == 3


def test_a_polygon_of_very_many_corners_is_drawn_by_few_triangles(tmp_path):
    count = 100_000
    angle = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False)
    corners = "".join(f"v {x:.6f} {y:.6f} 0\n" for x, y in zip(np.cos(angle), np.sin(angle)))
    path = tmp_path / "round.obj"
    path.write_text(corners + "f " + " ".join(map(str, range(1, count + 1))) + "\n")

    drawn = triangles_of(Mesh("round.obj", str(tmp_path), np.ones(3)))

    assert 0 < len(drawn) <= 5000


# Outputs


def test_outputs_in_missing_folders_are_refused_before_the_work(tmp_path, monkeypatch, capsys):
    def worked(*arguments):
        raise AssertionError("the work has begun")

    monkeypatch.setattr("dynamics.__main__._model", worked)
    monkeypatch.setattr("graphsys.__main__._system", worked)
    robot, matrix = tmp_path / "r.urdf", tmp_path / "A.mtx"
    for option in ("--out", "--html", "--plot"):
        path = tmp_path / "missing" / "file.npz"
        assert dynamics_command(["simulate", str(robot), option, str(path)]) == 1
        message = capsys.readouterr().err
        assert f"{option} {path}: there is no folder {path.parent}" in message
    assert graphsys_command(["solve", str(matrix), "--out", str(path)]) == 1
    assert "there is no folder" in capsys.readouterr().err
    assert dynamics_command(["simulate", str(robot), "--out", str(tmp_path)]) == 1
    assert "is a folder; name a file in it" in capsys.readouterr().err


def everything_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("there_before", [True, False])
def test_a_file_that_cannot_be_written_to_its_end_leaves_what_was_there(tmp_path, there_before):
    path = tmp_path / "page.html"
    if there_before:
        path.write_bytes(b"of yesterday")
    before = everything_in(tmp_path)

    with pytest.raises(OSError, match="No space left"), gs.whole_file(path) as temporary:
        temporary.write_bytes(b"half of a page")
        with open("/dev/full", "wb") as full:
            full.write(b"x" * 10)
            full.flush()

    assert everything_in(tmp_path) == before


def test_a_file_keeps_its_permissions_when_it_is_replaced(tmp_path):
    path = tmp_path / "page.html"
    path.write_bytes(b"of yesterday")
    path.chmod(0o640)
    with gs.whole_file(path) as temporary:
        temporary.write_bytes(b"of today")

    assert path.read_bytes() == b"of today" and path.stat().st_mode & 0o777 == 0o640


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with gs.whole_file(path) as target:
        assert target == path
    assert path.is_fifo() and [*tmp_path.iterdir()] == [path]


def test_an_output_where_nothing_may_be_written_is_refused_before_the_work(
    tmp_path, monkeypatch, capsys
):
    # whoever runs the tests may be root, whom no permission stops
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK or path != tmp_path)
    path = tmp_path / "x.npy"

    assert graphsys_command(["solve", "A.mtx", "--out", str(path)]) == 1
    assert capsys.readouterr().err == (
        f"graphsys: error: --out {path}: this user may not write there\n"
    )


@pytest.mark.parametrize("kind", ["motion", "page", "film", "robot"])
def test_motions_pages_films_and_robots_replace_what_was_there_only_as_a_whole(
    motion, tmp_path, monkeypatch, kind
):
    path = (
        tmp_path / {"motion": "a.npz", "page": "a.html", "film": "a.gif", "robot": "a.urdf"}[kind]
    )

    def save():
        if kind == "motion":
            motion.save(path)
        elif kind == "page":
            motion.export_html(path)
        elif kind == "film":
            motion.animate(rate=10.0).save(path)
        else:
            dy.save_urdf(motion.model.mechanism, path)

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    save()  # kernels that it needs are stored with os.replace too
    path.write_bytes(b"of yesterday")
    with monkeypatch.context() as broken:
        broken.setattr("os.replace", full)
        with pytest.raises(OSError, match="No space left"):
            save()
    assert everything_in(tmp_path) == {path.name: b"of yesterday"}

    save()
    assert list(everything_in(tmp_path)) == [path.name]
    assert path.stat().st_size > 100
