"""The live view: steps by the clock, the spring of the mouse, and its server without a browser."""

import asyncio
import json
import runpy
import shutil
import sys
import time
import warnings
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import dynamics as dy
import graphsys as gs
from dynamics.display.live import Runner
from dynamics.display.viewer.looks import Part, Surface


def floating_box(gravity=0.0, **options):
    mech = dy.Mechanism(gravity=(0, 0, -gravity))
    mech.add_body(dy.Box(0.4, 0.4, 0.4, mass=2.0), name="box", **options)
    return mech.finalize(0.01)


def driven_arm():
    mech = dy.Mechanism()
    arm = mech.add_body(dy.Box(0.1, 0.1, 1.0, mass=1.0), name="<b>arm</b>")
    driven = {"actuated": True, "control_limits": (-3.0, 5.0), "name": "</script>"}
    mech.add_joint(dy.Revolute(mech.world, arm, (0, 1, 0), child_point=(0, 0, 0.5), **driven))
    return mech.finalize(0.01)


def runner_of(model):
    return Runner(model, model.initial_state())


# Steps by the clock


def test_steps_follow_the_clock_and_its_speed():
    runner = runner_of(floating_box(10.0))
    assert [runner.advance(0.025) for _ in range(4)] == [2, 3, 2, 3]
    assert runner.state.time == pytest.approx(0.1)
    runner.speed = 0.5
    assert sum(runner.advance(0.02) for _ in range(10)) == 10
    np.testing.assert_allclose(runner.poses()[0, 2], -0.5 * 10.0 * 0.2**2, atol=1e-9)


def test_a_slow_picture_is_not_made_up_for():
    assert runner_of(floating_box()).advance(60.0) == 10  # 0.1 s


def test_pause_and_reset():
    runner = runner_of(floating_box(10.0))
    runner.advance(0.1)
    runner.paused = True
    assert runner.advance(0.1) == 0
    runner.reset()
    assert runner.state.time == 0.0 and runner.poses()[0, 2] == 0.0
    runner.paused = False
    assert runner.advance(0.01) == 1


def test_a_step_that_fails_stops_the_motion_until_reset(monkeypatch):
    runner = runner_of(floating_box())

    def step(*given):
        raise dy.ConvergenceError("the step at 0 s failed")

    with monkeypatch.context() as patch:
        patch.setattr(type(runner.model), "step", step)
        assert runner.advance(0.05) == 0
    assert runner.fault == "the step at 0 s failed" and runner.advance(0.05) == 0
    runner.reset()
    assert runner.fault == "" and runner.advance(0.05) == 5


# The spring of the mouse


def test_a_function_of_the_user_s_that_fails_stops_the_motion_with_its_error():
    mech = dy.Mechanism(gravity=(0, 0, 0))
    box = mech.add_body(dy.Box(0.4, 0.4, 0.4, mass=2.0), name="box")

    def fails(time, pose, twist):
        if time > 0.025:
            raise KeyError("no gain")
        return np.zeros(6)

    mech.add_force(dy.Wrench(box, fails))
    runner = runner_of(mech.finalize(0.01))

    assert runner.advance(0.1) < 10
    assert "no gain" in runner.fault and runner.advance(0.1) == 0
    runner.reset()
    assert runner.advance(0.01) == 1


def test_the_spring_brings_the_point_that_it_holds_to_its_end():
    runner = runner_of(floating_box())
    runner.grab(0, np.zeros(3))
    runner.drag(np.array([1.0, 0.0, 0.2]))
    for _ in range(50):
        runner.advance(0.1)
    np.testing.assert_allclose(runner.poses()[0, :3], [1.0, 0.0, 0.2], atol=1e-6)

    runner.release()
    assert runner.wrenches() is None


def test_the_spring_has_the_wrench_of_a_force_at_its_point():
    model = floating_box(orientation=(np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0))  # y to z
    runner = runner_of(model)
    runner.grab(0, np.array([0.2, 0.0, 0.0]))
    runner.drag(np.array([0.2, 0.0, 0.1]))
    (wrench,) = runner.wrenches().values()

    force = 2.0 * 12.0**2 * 0.1
    np.testing.assert_allclose(wrench, [0, 0, force, 0, 0, 0.2 * force], atol=1e-12)


def test_a_light_body_can_be_pulled_without_a_failing_step():
    mech = dy.Mechanism()
    heavy = mech.add_body(dy.Sphere(0.3, mass=100.0), name="heavy")
    light = mech.add_body(dy.Sphere(0.02, mass=0.01), name="light")
    mech.add_joint(dy.Revolute(heavy, light, (1, 0, 0), parent_point=(0, 0, 0.5)))
    runner = runner_of(mech.finalize(0.01))
    runner.grab(1, runner.poses()[1, :3])
    runner.drag(np.array([3.0, 0.0, 2.0]))
    for _ in range(30):
        runner.advance(0.1)

    assert runner.fault == "" and np.isfinite(runner.poses()).all()


# The server


@pytest.fixture
def live():
    pytest.importorskip("viser", reason="viser is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = driven_arm().view(port=18080)
        yield made
        made.close()


def test_sliders_have_the_limits_of_controls_and_set_them(live):
    (slider,) = live.sliders
    assert (slider.label, slider.min, slider.max, slider.value) == ("</script>", -3.0, 5.0, 0.0)
    slider.value = 2.5
    live._control(0)

    assert live.runner.controls.tolist() == [2.5]
    assert live.url.startswith("http://127.0.0.1:")


def test_sliders_of_position_servos_hold_the_posture_within_the_limits_of_joints():
    from dynamics.display.live.server import _ranges

    mech = dy.Mechanism()
    arm = mech.add_body(dy.Box(0.1, 0.1, 1.0, mass=1.0), name="arm")
    servo = dy.PositionServo(50.0, 5.0, target=0.1, gear=-2.0)
    options = {"servo": servo, "limits": (-1.0, 2.0), "name": "hinge"}
    mech.add_joint(dy.Revolute(mech.world, arm, (0, 1, 0), child_point=(0, 0, 0.5), **options))
    model = mech.finalize(0.01)
    state = model.initial_state()
    model.set_joint(state, "hinge", 0.3)
    ((label, least, most, start),) = _ranges(model, state, 1.0)

    assert label == "hinge"
    assert (least, most, start) == pytest.approx((-4.1, 1.9, -0.7))  # gear q - target
    motion = dy.simulate(model, state, 2.0, controls=[start])
    assert motion.joint("hinge")[-1] == pytest.approx(0.3, abs=0.05)


def test_a_servo_far_from_0_holds_its_posture():
    from dynamics.display.live.server import _ranges

    mech = dy.Mechanism()
    arm = mech.add_body(dy.Box(0.1, 0.1, 1.0, mass=1.0), name="arm")
    options = {"servo": dy.PositionServo(50.0, 5.0), "name": "hinge"}
    mech.add_joint(dy.Revolute(mech.world, arm, (0, 1, 0), child_point=(0, 0, 0.5), **options))
    model = mech.finalize(0.01)
    state = model.initial_state()
    model.set_joint(state, "hinge", 5.0)
    ((_, least, most, start),) = _ranges(model, state, 1.0)
    assert start == pytest.approx(5.0) and (least, most) == pytest.approx((-np.pi, 5.0 + np.pi))


def test_a_control_without_a_range_has_no_slider_and_an_error_stops_the_server(monkeypatch):
    viser = pytest.importorskip("viser", reason="viser is not installed")
    from dynamics.display.live.server import Live

    mech = dy.Mechanism()
    for k, most in enumerate((0.0, 2.0)):
        arm = mech.add_body(dy.Box(0.1, 0.1, 1.0, mass=1.0), name=f"arm {k}")
        options = {"actuated": True, "control_limits": (0.0, most), "name": f"hinge {k}"}
        options |= {"parent_point": (0, k, 0), "child_point": (0, 0, 0.5)}
        mech.add_joint(dy.Revolute(mech.world, arm, (0, 1, 0), **options))
    model = mech.finalize(0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with model.view(port=18090) as live:
            (slider,) = live.sliders
            slider.value = 1.5
            live._control(0)
            assert live.runner.controls.tolist() == [0.0, 1.5]

        stopped = []
        monkeypatch.setattr(Live, "_add_controls", lambda self: 1 / 0)
        monkeypatch.setattr(viser.ViserServer, "stop", lambda self: stopped.append(self))
        with pytest.raises(ZeroDivisionError):
            model.view(port=18090)
    assert len(stopped) == 1
    monkeypatch.undo()
    stopped[0].stop()


def test_the_motion_waits_for_a_browser_and_lets_go_when_it_leaves(live, monkeypatch):
    time.sleep(0.2)
    assert live.runner.state.time == 0.0
    live.runner.grab(0, np.zeros(3))
    monkeypatch.setattr(live.server, "get_clients", lambda: {0: None})
    deadline = time.monotonic() + 20.0
    while live.runner.state.time < 0.1 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert live.runner.state.time >= 0.1
    live._holder = 3
    live._left(4)  # a browser that holds nothing
    assert live.runner.wrenches() is not None
    live._left(3)

    assert live.runner.wrenches() is None and live._thread.is_alive()


def test_bodies_are_dragged_and_named(live):
    frame = live.server.scene._handle_from_node_name["/bodies/0/0"]
    (drag,) = [entry.callback for entry in frame._impl.drag_cb]
    (click,) = [getattr(entry, "callback", entry) for entry in frame._impl.click_cb]
    at = {"start_position": (0.0, 0.0, -0.5), "end_position": (0.3, 0.0, -0.5), "client_id": 0}
    asyncio.run(drag(SimpleNamespace(phase="start", **at)))
    assert live.runner.wrenches()["<b>arm</b>"][0] > 0.0
    asyncio.run(drag(SimpleNamespace(phase="end", **(at | {"client_id": 1}))))  # another browser's
    assert live.runner.wrenches() is not None
    asyncio.run(drag(SimpleNamespace(phase="end", **at)))
    assert live.runner.wrenches() is None
    asyncio.run(click(None))

    assert live._picked.value == "<b>arm</b>"


def test_names_reach_the_page_inside_one_attribute(live):
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: found.append((tag, dict(attributes)))
    parser.feed(live._hover.content)
    ((tag, attributes),) = found
    assert tag == "img" and set(attributes) == {"src", "style", "onerror"}
    assert attributes["onerror"].endswith('({"/bodies/0": "<b>arm</b>"})')


#: Where the two bodies are in the window, from viser's own camera.
PLACES = """JSON.stringify([0, 1].map((i) => {
  const { nodeRefFromName, camera, canvas } = window.__viserMutable;
  const at = nodeRefFromName["/bodies/" + i].getWorldPosition(camera.position.clone());
  at.project(camera);
  const box = canvas.getBoundingClientRect();
  return [box.left + (at.x + 1) / 2 * box.width, box.top + (1 - at.y) / 2 * box.height];
}))"""
TIP = "document.getElementById('name of a body')"


@pytest.mark.slow
def test_a_browser_shows_the_name_of_the_body_under_the_pointer(tmp_path):
    pytest.importorskip("viser", reason="viser is not installed")
    if not (shutil.which("chromium") or shutil.which("chromium-browser")):
        pytest.skip("Chromium is not installed")
    animate = runpy.run_path(str(Path(__file__).parents[2] / "docs/pictures/animate.py"))
    mech = dy.Mechanism(gravity=(0, 0, 0))
    names = ["<b>a</b> & 'b' \"c\"", "two"]
    for k, name in enumerate(names):
        mech.add_body(dy.Box(0.4, 0.4, 0.4, mass=2.0), name=name, position=(k, 0, 0))
    with warnings.catch_warnings(), mech.finalize(0.01).view(port=18090) as shown:
        warnings.simplefilter("ignore")
        browser = animate["Browser"](tmp_path / "profile")
        try:
            browser.ask("Emulation.setDeviceMetricsOverride", width=1200, height=800,
                        deviceScaleFactor=1, mobile=False)  # fmt: skip
            browser.ask("Page.navigate", url=shown.url)
            wait_for(lambda: browser.run(f"!!({TIP} && window.__viserMutable?.canvas)"))
            wait_for(lambda: browser.run("!!window.__viserMutable.nodeRefFromName['/bodies/1']"))
            time.sleep(2.0)  # the camera comes to its place
            places = json.loads(browser.run(PLACES))

            def named(x, y):
                for k in range(3):
                    browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x + k, y=y)
                    time.sleep(0.3)
                return browser.run(f"{TIP}.style.display === 'none' ? null : {TIP}.textContent")

            assert [named(*at) for at in places] == names
            assert named(5.0, 600.0) is None
        finally:
            browser.process.terminate()
            browser.process.wait()


def wait_for(holds, seconds=60.0):
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.2)


#: The kind of a part, its sizes and the corners of the box around it, before it is placed.
SHAPES = {
    "box": ((0.2, 0.4, 0.6), (0.1, 0.2, 0.3)),
    "sphere": ((0.3, 0.0), (0.3, 0.3, 0.3)),
    "cylinder": ((0.2, 1.0), (0.2, 0.2, 0.5)),
    "capsule": ((0.2, 1.0), (0.2, 0.2, 0.7)),
    "mesh": ((0.0, 0.0), (0.5, 0.5, 0.5)),
}


@pytest.mark.parametrize("colored", [False, True])
@pytest.mark.parametrize("kind", SHAPES)
def test_every_shape_is_drawn_where_it_is_in_its_size_and_opacity(live, kind, colored):
    size, half = SHAPES[kind]
    surface = None
    if kind == "mesh":
        vertices = np.array([[0.5, 0, -0.5], [0, 0.5, 0.5], [0, 0, 0.5], [-0.5, -0.5, 0.5]])
        faces = np.array([[0, 1, 2], [2, 1, 3]])
        colors = np.full((2, 4), 255, np.uint8) if colored else None
        surface = Surface(vertices, faces, colors)
    place, turn = np.array([1.0, 2.0, 3.0]), np.array([0.6, 0.8, 0.0, 0.0])
    color = (0.2, 0.4, 0.6, 0.5 if colored else 1.0)

    handle = live._draw("/one", Part(kind, size, place, turn, color, surface))

    assert np.array_equal(handle.position, place) and np.allclose(handle.wxyz, turn)
    if kind != "mesh" or not colored:  # a mesh's own colours stand in its file
        assert handle.color == (51, 102, 153)
        assert handle.opacity == (0.5 if colored else None)
    if kind == "box":
        assert handle.dimensions == size
    elif kind == "sphere":
        assert handle.radius == 0.3
    elif kind == "cylinder":
        assert (handle.radius, handle.height) == size
    elif kind == "capsule" or not colored:
        corners = np.abs(handle.vertices).max(axis=0)
        assert corners == pytest.approx(half, abs=1e-6)  # of four bytes


def test_ctrl_c_while_a_script_waits_closes_the_view(live, monkeypatch):
    def interrupt(timeout=None):
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(live._thread, "join", interrupt)
    live.wait()

    assert not live._thread.is_alive()


def test_a_closed_view_is_closed_once_and_for_all(live):
    live.close()
    live.close()

    assert not live._thread.is_alive()
    live.wait()  # returns


def test_a_missing_viser_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(gs.MissingExtraError, match=r"viser.*graphsys\[view\]"):
        floating_box().view()


@pytest.mark.parametrize("port", [0, 70000, "8080"])
def test_a_port_that_there_is_not_is_refused(port):
    with pytest.raises(ValueError, match="port is .* from 1 to 65535"):
        floating_box().view(port=port)


def test_a_host_or_a_start_that_there_is_not_is_refused_before_a_server_starts(monkeypatch):
    from dynamics.display.live import server

    model = floating_box()
    monkeypatch.setattr(server, "Live", None)
    with pytest.raises(ValueError, match="no page can be served at host 'no host'"):
        model.view(host="no host")
    with pytest.raises(TypeError, match="start with model.initial_state()"):
        model.view(np.zeros(3))
    with pytest.raises(ValueError, match="of another model: it has .* numbers, this model's have"):
        model.view(driven_arm().initial_state())
