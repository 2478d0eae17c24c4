"""Events in motion files: the round trip, names of the model, files that do not fit."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import archive

from .test_events import bouncing, found_of, height, thrown, tower


def test_events_come_back_from_a_file(tmp_path):
    model, state = bouncing()
    mark = {"mark": height(0.5), 7: height(0.4)}
    motion = dy.simulate(model, state, 1.0, accuracy=1e-4, events=mark)
    motion.save(tmp_path / "motion.npz")
    back = dy.Trajectory.load(tmp_path / "motion.npz", model)

    assert [one[:3] for one in back.events] == [one[:3] for one in motion.events]
    assert {one.kind for one in back.events} == {"closes", "opens", "rises", "falls"}
    for one, other in zip(motion.events, back.events):
        assert (one.state is None) == (other.state is None)
        if one.state is not None:
            np.testing.assert_array_equal(other.state.data, one.state.data)
            assert (other.state.time, other.state.interval) == (one.time, one.state.interval)


def test_events_of_near_pairs_come_back_by_their_names(tmp_path):
    model, state = tower(True)
    motion = dy.simulate(model, state, 0.12, accuracy=1e-3, events=height(0.08))
    assert ("floor|0", "closes") in found_of(motion)
    motion.save(tmp_path / "motion.npz")
    back = dy.Trajectory.load(tmp_path / "motion.npz", model)
    assert [one[:3] for one in back.events] == [one[:3] for one in motion.events]


def test_labels_of_contacts_come_back_as_the_models(tmp_path):
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="ball", position=(0, 0, 0.2))
    mechanism.add_contact(ball, name=("floor", 1))
    model = mechanism.finalize(0.05)
    motion = dy.simulate(model, model.initial_state(), 0.2, accuracy=1e-4)
    motion.save(tmp_path / "motion.npz")
    assert found_of(dy.Trajectory.load(tmp_path / "motion.npz", model)) == [
        (("floor", 1), "closes")
    ]


def test_a_file_without_events_loads_as_before(tmp_path):
    model, state = thrown()
    motion = dy.simulate(model, state, 0.2)
    motion.save(tmp_path / "motion.npz")
    with np.load(tmp_path / "motion.npz") as file:
        assert not archive.EVENTS & {*file.files}  # earlier versions read it
    back = dy.Trajectory.load(tmp_path / "motion.npz", model)
    assert len(back.events) == 0
    np.testing.assert_array_equal(back.states, motion.states)


BAD = {
    "lacks event_kinds": lambda kept: kept.pop("event_kinds"),
    "kind 'vanishes'": lambda kept: kept.update(event_kinds=np.array(["vanishes", "falls"])),
    "2 times, 1 names": lambda kept: kept.update(event_names=np.array(["0"])),
    "states of shape": lambda kept: kept.update(event_states=kept["event_states"][:1]),
    "not finite": lambda kept: kept.update(event_times=np.array([0.1, np.inf])),
}


@pytest.mark.parametrize("message", BAD)
def test_a_file_whose_events_do_not_fit_is_refused(message, tmp_path):
    model, state = thrown()
    motion = dy.simulate(model, state, 1.2, events=height(1.0))
    path = tmp_path / "motion.npz"
    motion.save(path)
    with np.load(path) as file:
        kept = {name: file[name] for name in file.files}
    BAD[message](kept)
    np.savez(path, **kept)
    with pytest.raises(ValueError, match=f"holds no trajectory of dynamics: .*{message}"):
        dy.Trajectory.load(path, model)
