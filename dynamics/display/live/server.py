"""Scene, sliders and buttons of a live view, by viser; one thread steps the model."""

from __future__ import annotations

import atexit
import html
import json
import socket
import threading
import time
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import graphsys as gs
from dynamics import rotation
from dynamics.display.live.runner import Runner
from dynamics.display.viewer.looks import Part, ends_of, looks_of, still_of, visible
from dynamics.parts.servos import PositionServo
from dynamics.parts.surroundings import planes_of
from dynamics.simulation import check_start

if TYPE_CHECKING:
    from dynamics.model import Model
    from dynamics.state import State

__all__ = ["Live", "view"]

Float = NDArray[np.float64]
PICTURES = 40.0  #: sent per second
GROUND = (206, 211, 216)


class Live:
    """A model that is simulated in real time and shown in browsers.

    It pauses while no browser is connected.

    Parameters
    ----------
    model : Model
    state : State
        Initial state.
    host : str
        Address at which the page is served.
    port : int
        If it is in use, the next free one is taken.

    Attributes
    ----------
    runner : Runner
    server : viser.ViserServer
        Server of the scene and its controls, for additions.
    url : str
        Address for a browser.
    """

    def __init__(self, model: Model, state: State, host: str, port: int) -> None:
        try:
            viser = import_module("viser")
            self._shapes = import_module("trimesh")
        except ImportError:
            raise gs.MissingExtraError("the live view of a model", "viser", "view") from None
        self.runner = Runner(model, state)
        bodies = visible(model.mechanism)
        looks = [looks_of(body, i) for i, body in enumerate(bodies)]  # may warn of lost meshes
        self.server = viser.ViserServer(host=host, port=port, label="dynamics", verbose=False)
        self.url = f"http://{host}:{self.server.get_port()}"
        self._numbers = [model.body_number(body.name) for body in bodies]
        self._names = [str(body.name) for body in bodies]
        self._holder: object = None
        try:
            self._draw_world(looks)
            self._frames = [self._draw_body(i, parts) for i, parts in enumerate(looks)]
            self._add_controls()
            self._name_on_hover()
        except BaseException:
            self.server.stop()
            raise
        self._stop = threading.Event()
        self.server.on_client_disconnect(lambda client: self._left(client.client_id))
        self._thread = threading.Thread(target=self._run, name="live view", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def close(self) -> None:
        """Stop the model and the server; a second call does nothing."""
        if not self._stop.is_set():
            self._stop.set()
            if threading.current_thread() is not self._thread:
                self._thread.join(timeout=10.0)
            self.server.stop()
            atexit.unregister(self.close)

    def wait(self) -> None:
        """Return when the view is closed, as at the end of a script; Ctrl-C closes it."""
        try:
            while self._thread.is_alive():
                self._thread.join(timeout=0.5)
        except KeyboardInterrupt:
            self.close()

    def __repr__(self) -> str:
        return f"Live({self.url!r})"

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # Scene

    def _draw_world(self, looks: list[list[Part]]) -> None:
        scene, mechanism = self.server.scene, self.runner.model.mechanism
        poses = self.runner.poses()[self._numbers]
        ends = [
            x[:3] + rotation.rotate(np.broadcast_to(x[3:], (len(e), 4)), e)
            for x, e in zip(poses, map(ends_of, looks))
        ]
        points = np.concatenate([*ends, np.zeros((0, 3))])
        low, high = (points.min(axis=0), points.max(axis=0)) if len(points) else np.eye(3)[:2]
        self.reach = float(np.linalg.norm(high - low)) or 1.0
        middle = 0.5 * (low + high)
        scene.set_up_direction("+z")
        scene.configure_default_lights(enabled=True, cast_shadow=True)
        self.server.initial_camera.look_at = tuple(middle)
        self.server.initial_camera.position = tuple(
            middle + self.reach * np.array([0.5, -1.2, 0.45])
        )
        cell = 10.0 ** np.floor(np.log10(self.reach))
        grid = {
            "cell_size": cell, "section_size": 10.0 * cell, "plane_color": GROUND,
            "plane_opacity": 1.0, "shadow_opacity": 0.35, "infinite_grid": True,
            "fade_distance": 30.0 * self.reach,
        }  # fmt: skip
        planes = planes_of(mechanism)
        for k, (point, normal) in enumerate(planes):
            turn = rotation.align((0.0, 0.0, 1.0), normal)
            scene.add_grid(f"/ground/{k}", position=point, wxyz=turn, **grid)
        if not planes:
            height = 0.0 if low[2] >= -0.03 * self.reach else low[2] - self.reach
            scene.add_grid("/ground", position=(0.0, 0.0, height), **grid)
        for k, parts in enumerate(still_of(mechanism).values()):
            for j, part in enumerate(parts):
                self._draw(f"/world/{k}/{j}", part)

    def _draw_body(self, i: int, parts: list[Part]) -> Any:
        frame = self.server.scene.add_frame(f"/bodies/{i}", show_axes=False)
        for j, part in enumerate(parts):  # numbers, since names may hold anything
            handle = self._draw(f"/bodies/{i}/{j}", part)
            self._make_draggable(handle, i)
        return frame

    def _draw(self, name: str, part: Part) -> Any:
        scene = self.server.scene
        color = tuple(round(255 * c) for c in part.color[:3])
        place = {"position": part.position, "wxyz": part.orientation}
        look: dict[str, Any] = {"color": color, **place}
        if part.color[3] < 1.0:
            look["opacity"] = part.color[3]
        if part.kind == "box":
            return scene.add_box(name, dimensions=part.size, **look)
        if part.kind == "sphere":
            return scene.add_icosphere(name, radius=part.size[0], subdivisions=4, **look)
        if part.kind == "cylinder":
            radius, length = part.size
            return scene.add_cylinder(name, radius=radius, height=length, **look)
        if part.surface is not None and part.surface.colors is not None:
            made = self._shapes.Trimesh(
                part.surface.vertices, part.surface.faces, face_colors=part.surface.colors,
                process=False,
            )  # fmt: skip
            return scene.add_mesh_trimesh(name, made, **place)
        if part.surface is not None:
            vertices, faces = part.surface.vertices, part.surface.faces
        else:
            radius, length = part.size
            made = self._shapes.creation.capsule(length, radius, count=(32, 16))
            made.apply_translation((0.0, 0.0, -made.bounds.mean(axis=0)[2]))
            vertices, faces = made.vertices, made.faces
        return scene.add_mesh_simple(name, vertices, faces, side="double", **look)

    def _make_draggable(self, handle: Any, i: int) -> None:
        async def drag(event: Any) -> None:  # awaited, so phases come in order
            if event.phase == "start":
                self._holder = event.client_id
                self.runner.grab(self._numbers[i], np.array(event.start_position))
            if event.client_id != self._holder:  # another browser has the spring now
                return
            if event.phase == "end":
                self.runner.release()
            else:
                self.runner.drag(np.array(event.end_position))

        async def click(event: Any) -> None:
            self._picked.value = self._names[i]

        handle.on_drag("left")(drag)
        handle.on_click(click)

    def _name_on_hover(self) -> None:
        """Let the page show the name of the body under the pointer: viser has no event for it."""
        script = files("dynamics.display.live").joinpath("names.js").read_text("utf-8")
        names = {f"/bodies/{i}": name for i, name in enumerate(self._names)}
        code = html.escape(f"({script})({json.dumps(names)})")
        page = f'<img src="data:," style="display:none" onerror="{code}">'
        self._hover = self.server.gui.add_html(page)

    def _left(self, client: object) -> None:
        """Let go of what a browser held that went away."""
        if client == self._holder:
            self.runner.release()

    # Controls

    def _add_controls(self) -> None:
        gui, runner = self.server.gui, self.runner
        self._clock = gui.add_text("time, s", "0.00", disabled=True)
        self._picked = gui.add_text("body", "click or drag one", disabled=True)
        self._fault = gui.add_text("stopped", "", disabled=True, visible=False)
        self.pause = gui.add_checkbox("pause", False)
        self.speed = gui.add_slider("speed", 0.1, 2.0, 0.1, 1.0)
        self.reset = gui.add_button("Reset")
        self.pause.on_update(lambda event: setattr(runner, "paused", bool(self.pause.value)))
        self.speed.on_update(lambda event: setattr(runner, "speed", float(self.speed.value)))
        self.reset.on_click(lambda event: runner.reset())
        self.sliders: list[Any] = []
        self._driven: list[int] = []
        ranges = _ranges(runner.model, runner.start, self.reach)
        for k, (label, least, most, start) in enumerate(ranges):
            with_step = (most - least) / 200.0
            runner.controls[k] = start = min(max(start, least), most)
            if with_step <= 0.0:  # nothing to choose
                continue
            slider = gui.add_slider(label, least, most, with_step, start)
            i = len(self.sliders)
            slider.on_update(lambda event, i=i: self._control(i))
            self.sliders.append(slider)
            self._driven.append(k)

    def _control(self, i: int) -> None:
        self.runner.controls[self._driven[i]] = float(self.sliders[i].value)

    # Time

    def _run(self) -> None:
        before, fault = time.perf_counter(), ""
        while not self._stop.wait(1.0 / PICTURES):
            now = time.perf_counter()
            if self.server.get_clients():
                self.runner.advance(now - before)
                self._show()
                if self.runner.fault != fault:
                    fault = self.runner.fault
                    self._fault.value, self._fault.visible = fault, bool(fault)
            before = now

    def _show(self) -> None:
        poses = self.runner.poses()[self._numbers]
        with self.server.atomic():
            for frame, pose in zip(self._frames, poses):
                frame.position, frame.wxyz = pose[:3], pose[3:]
        self._clock.value = f"{self.runner.state.time:.2f}"


def _ranges(model: Model, state: State, reach: float) -> list[tuple[str, float, float, float]]:
    """Label, range and first value of each control.

    Position servos hold the posture of the state, within the limits of their joint. Others begin
    at 0, within their own limits, or the weight, or its torque at the reach.
    """
    mechanism = model.mechanism
    usual = mechanism.mass * max(float(np.linalg.norm(mechanism.gravity)), 1.0) * max(reach, 1.0)
    found = []
    for name, (_, count) in model.tables.control_start.items():
        owner: Any = (mechanism.joints | mechanism.springs | mechanism.thrusters).get(name)
        limits, servo = getattr(owner, "control_limits", None), getattr(owner, "servo", None)
        most, start = usual if servo is None else np.pi, np.zeros(count)
        if isinstance(servo, PositionServo):
            target = np.broadcast_to(servo.target, (count,))
            start = servo.gear * model.joint(state, name)[0] - target
            if limits is None and owner.limits is not None:
                limits = np.sort(servo.gear * owner.limits) - target[:, None]
        for k in range(count):
            low, high = min(-most, start[k] - most), max(most, start[k] + most)
            if limits is not None:
                given = np.broadcast_to(np.asarray(limits, float), (count, 2))[k]
                low, high = np.where(np.isfinite(given), given, (low, high))
            label = f"{name} {k}" if count > 1 else str(name)
            found.append((label, float(low), float(high), float(start[k])))
    return found


def view(
    model: Model, state: State | None = None, *, host: str = "127.0.0.1", port: int = 8080
) -> Live:
    """Let a model move in real time in a browser; see `dynamics.Model.view`."""
    if not (isinstance(port, int) and 0 < port < 65536):
        raise ValueError(f"port is {port!r}, and must be an integer from 1 to 65535")
    try:  # viser's server would wait for ever
        socket.create_server((host, 0)).close()
    except OSError as error:
        raise ValueError(f"no page can be served at host {host!r}: {error}") from None
    state = model.initial_state() if state is None else state
    check_start(model, state)
    return Live(model, state, host, port)
