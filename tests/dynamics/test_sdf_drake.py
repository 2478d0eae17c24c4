"""SDF compared with Drake's parser, on random files: poses, and falls under gravity.

They need `pip install drake`, which no extra asks for.
"""

import logging
import warnings

import numpy as np
import pytest

import dynamics as dy
from dynamics.io import LoadWarning

from .robots import falling, pose_of_frame
from .sdf_families import Family

pytest.importorskip("pydrake", reason="Drake (pip install drake) is not installed")

#: A hundred products of transformations of numbers of size 10, with some roundings each.
POSES = 1e-12
#: Condition numbers of 1e3 at most, of mass matrices in joint coordinates here and there.
FALLS = 1e-10


def plant_of(path):
    """Drake's plant of a file, and a context with each joint of one coordinate at 0.1."""
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
    from pydrake.systems.framework import DiagramBuilder

    logging.getLogger("drake").setLevel(logging.CRITICAL)
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
    parser = Parser(plant)
    parser.package_map().Add("parts", str(path.parent))
    models = parser.AddModels(str(path))
    plant.Finalize()
    diagram = builder.Build()
    context = plant.GetMyContextFromRoot(diagram.CreateDefaultContext())
    q = plant.GetPositions(context)
    joints = [plant.get_joint(k) for one in models for k in plant.GetJointIndices(one)]
    for one in joints:
        if one.num_positions() == 1:
            q[one.position_start()] = 0.1
    plant.SetPositions(context, q)
    bodies = [plant.get_body(k) for one in models for k in plant.GetBodyIndices(one)]
    return diagram, plant, context, bodies


def compare(path):
    """Hold the poses and the falls of all links to Drake's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoadWarning)
        mechanism = dy.load(path)
    model = mechanism.finalize(timestep=0.01)
    state = model.initial_state()
    for name, one in mechanism.joints.items():
        if one.n_coordinates == 1:
            model.set_joint(state, name, 0.1)
    rates = falling(model, state).reshape(-1, 6)
    _, plant, context, bodies = plant_of(path)
    by_name = {str(name).rsplit("::", 1)[-1]: name for name in mechanism.frames}
    for body in bodies:
        name = by_name[body.name()]
        X = plant.EvalBodyPoseInWorld(context, body)
        x, R = pose_of_frame(mechanism, state, model, name)
        np.testing.assert_allclose(x, X.translation(), atol=POSES)
        np.testing.assert_allclose(R, X.rotation().matrix(), atol=POSES)
        rate = plant.EvalBodySpatialAccelerationInWorld(context, body)
        turn, center = rate.rotational(), body.CalcSpatialInertiaInBodyFrame(context).get_com()
        own = rates[model.body_number(name)]
        fall = rate.translational() + np.cross(turn, R @ center)
        np.testing.assert_allclose(own[:3], fall, atol=FALLS)
        np.testing.assert_allclose(R @ own[3:], turn, atol=FALLS)


@pytest.mark.parametrize("seed", range(40))
def test_models_in_frames(tmp_path, seed):
    path = tmp_path / "model.sdf"
    path.write_text(Family(seed).file()[0])
    compare(path)


@pytest.mark.parametrize("seed", range(40))
def test_includes_and_merged_includes(tmp_path, seed):
    parts = []
    for k in range(2):
        text, links, frames = Family(1000 + 2 * seed + k).file()
        (tmp_path / f"part{k}.sdf").write_text(text)
        parts.append((f"package://parts/part{k}.sdf", links, frames))
    path = tmp_path / "model.sdf"
    path.write_text(Family(seed).including(parts))
    compare(path)


@pytest.mark.parametrize("seed", range(40))
def test_worlds(tmp_path, seed):
    path = tmp_path / "world.sdf"
    path.write_text(Family(seed).world())
    compare(path)
