"""Animations of the gallery: ``python docs/pictures/animate.py [name ...]`` writes them anew.

Each scene becomes a page as `Trajectory.export_html` writes it, and Chromium draws its frames. The
build of the site has no browser, so the animations are kept in the gallery's folder. Needs
Chromium, and Pillow and websockets, which matplotlib and viser bring along.
"""

import argparse
import base64
import io
import json
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from urllib.request import urlopen

import numpy as np
from PIL import Image
from websockets.sync.client import connect

import dynamics as dy
from dynamics import rotation
from dynamics.parts.geometry import Geometry

GALLERY = Path(__file__).parents[1] / "gallery"
WIDTH, HEIGHT, BAR = 480, 300, 76  # pixels; those of the bar with the buttons are cut off
RATE, LEAST = 10.0, 16  # frames per second, and frames
PORT = 9223
#: Moves the page's slider, and waits until that is drawn.
DRAW = """new Promise((done) => {{
  const slider = document.getElementById("scrub");
  slider.value = {};
  slider.dispatchEvent(new Event("input"));
  requestAnimationFrame(() => requestAnimationFrame(() => done(true)));
}})"""
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
#: What a pendulum hangs on, along its axis, and what a top turns on.
PIN = dy.Cylinder(0.03, 0.4, mass=1.0, axis=(1, 0, 0))
PIVOT = dy.Sphere(0.13, mass=1.0)
SHAPES = (
    dy.Box(0.2, 0.16, 0.12, mass=1.0),
    dy.Cylinder(0.08, 0.2, mass=1.0),
    dy.Capsule(0.05, 0.2, mass=1.0),
)


def floored():
    """Mechanism with a floor."""
    mechanism = dy.Mechanism()
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    return mechanism


def found(mechanism, seconds, timestep=0.01, velocities=()):
    """Motion of bodies whose contacts the model finds."""
    mechanism.collide(friction=0.5)
    model = mechanism.finalize(timestep)
    state = model.initial_state()
    for name, velocity in velocities:
        model.set_body(state, name, velocity=velocity)
    return dy.simulate(model, dy.separate(model, state), seconds)


def pile():
    """Mixed shapes fall onto a floor."""
    mechanism, rng = floored(), np.random.default_rng(1)
    for i in range(24):
        place = np.array([i % 2, (i // 2) % 2, i // 4]) * 0.24 + (-0.12, -0.12, 0.2)
        mechanism.add_body(
            SHAPES[i % 3], name=f"{i}", position=place + rng.uniform(-0.03, 0.03, 3),
            orientation=rotation.random(rng),
        )  # fmt: skip
    return found(mechanism, 1.6)


def dominoes():
    """Dominoes in a curve; the first is pushed."""
    mechanism, angles = floored(), np.linspace(0.0, 1.9, 22)
    for k, angle in enumerate(angles):
        place = np.array([np.sin(angle), 1.0 - np.cos(angle), 0.0]) * 1.1
        turn = rotation.from_axis_angle((0, 0, 1), angle)
        mechanism.add_body(
            dy.Box(0.02, 0.1, 0.2, mass=0.3), name=f"{k}", position=place + (0, 0, 0.1001),
            orientation=turn,
        )  # fmt: skip
    return found(mechanism, 2.6, velocities=[("0", (0.5, 0.0, 0.0))])


def wall():
    """A heavy ball hits a wall of bricks."""
    mechanism = floored()
    for row in range(5):
        for k in range(4):
            y = 0.31 * (k - 1.5) + (0.0775 if row % 2 else -0.0775)
            mechanism.add_body(
                dy.Box(0.15, 0.3, 0.15, mass=1.0), name=f"{row}, {k}",
                position=(0.0, y, 0.0751 + 0.1502 * row),
            )  # fmt: skip
    mechanism.add_body(dy.Sphere(0.18, mass=8.0), name="ball", position=(-0.7, 0.05, 0.5))
    return found(mechanism, 1.1, velocities=[("ball", (4.0, 0.0, 0.5))])


def from_zoo(name, seconds, held=None):
    """Motion of a mechanism of `dynamics.zoo`, and a shape of the world that holds it."""
    model, state = getattr(dy.zoo, name)()
    if held is not None:
        shape, position = held
        model.mechanism.scenery["held"] = Geometry(shape, np.array(position), UPRIGHT)
    return dy.simulate(model, state, seconds)


def chain():
    """A chain of capsules falls over a ball."""
    mechanism = floored()
    mechanism.add_obstacle(dy.Sphere(0.3, mass=1.0), position=(0.0, 0.0, 0.7), name="ball")
    before = None
    for k in range(14):
        link = mechanism.add_body(
            dy.Capsule(0.03, 0.1, mass=0.1, axis=(1, 0, 0)), name=f"{k}",
            position=(0.13 * (k - 5.5), 0.02, 1.3),
        )  # fmt: skip
        if before is not None:
            mechanism.add_joint(dy.Spherical(
                before, link, parent_point=(0.065, 0, 0), child_point=(-0.065, 0, 0), name=f"j{k}",
            ))  # fmt: skip
        before = link
    return found(mechanism, 2.6, 0.005)


def example(name):
    """Functions of an example's script, which finds the others beside it."""
    folder = str(GALLERY.parent / "examples")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return runpy.run_path(str(GALLERY.parent / "examples" / f"{name}.py"))


def jansen_walker():
    """Theo Jansen's walker: one motor, 38 bodies and 18 loops."""
    model = example("jansen_walker")["walker"]()
    start = dy.separate(model, model.initial_state())
    return dy.simulate(model, start, 4.0, every=4)


def five_bar_quadruped():
    """A quadruped of five-bar legs begins to trot, slowed down."""
    return example("five_bar_quadruped")["walk"](1.0, 1.0)


def files_of_robots():
    """Folder of example-robot-data."""
    spec = find_spec("cmeel_pth")
    if spec is None:
        raise SystemExit("example-robot-data is not installed")
    return Path(spec.origin).parent / "cmeel.prefix/share/example-robot-data/robots"


def trot():
    """Unitree's A1 trots."""
    files = files_of_robots()
    return example("trot")["walk"](files / "a1_description/urdf/a1.urdf", files, 1.5)


def cassie():
    """Cassie walks, faster and faster."""
    files = files_of_robots()
    path = files / "cassie_description/robots/cassie_v2.sdf"
    return example("cassie_walk")["walk"](path, files, seconds=4.0, speed=0.8)


def arch():
    """An arch too thin for its span: the stones lose hold of each other."""
    model = example("arch")["arch"](0.08)
    return dy.simulate(model, model.initial_state(), 0.45)


WALKERS = (jansen_walker, five_bar_quadruped, trot, cassie)
SCENES = {
    **{made.__name__: made for made in WALKERS + (pile, dominoes, wall, chain, arch)},
    "double_pendulum": partial(from_zoo, "double_pendulum", 4.0, (PIN, (0.0, 0.0, 0.0))),
    "heavy_top": partial(from_zoo, "heavy_top", 3.0, (PIVOT, (0.0, 0.0, 0.0))),
    "four_bar": partial(from_zoo, "four_bar", 3.0),
    "bricard": partial(from_zoo, "bricard", 4.0),
}


class Browser:
    """Chromium without a window, driven through its debugging protocol."""

    def __init__(self, folder):
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        if path is None:
            raise SystemExit("Chromium is not installed")
        self.process = subprocess.Popen(
            [path, "--headless=new", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader",
             "--enable-unsafe-swiftshader", "--hide-scrollbars", f"--remote-debugging-port={PORT}",
             f"--window-size={WIDTH},{HEIGHT + BAR}", f"--user-data-dir={folder}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for _ in range(100):
            try:
                with urlopen(f"http://127.0.0.1:{PORT}/json") as tabs:
                    tab = next(tab for tab in json.load(tabs) if tab["type"] == "page")
                break
            except (OSError, StopIteration):
                time.sleep(0.1)
        self.socket, self.count = connect(tab["webSocketDebuggerUrl"], max_size=None), 0
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT + BAR,
            deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def ask(self, method, **params):
        """Answer to a command."""
        self.count += 1
        self.socket.send(json.dumps({"id": self.count, "method": method, "params": params}))
        while (answer := json.loads(self.socket.recv())).get("id") != self.count:
            pass
        return answer["result"]

    def run(self, code):
        """Value of an expression in the page, awaited if it is a promise."""
        found = self.ask("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        return found["result"].get("value")

    def open(self, url):
        """Wait for a page."""
        self.ask("Page.navigate", url=url)
        while not self.run("document.body && document.body.dataset.ready === 'yes'"):
            time.sleep(0.05)

    def frame(self, part):
        """Picture at a part of the motion's time."""
        self.run(DRAW.format(1000.0 * part))
        data = base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])
        return Image.open(io.BytesIO(data)).convert("RGB").crop((0, 0, WIDTH, HEIGHT))

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(SCENES))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(Path(folder) / "profile")
        for name in parser.parse_args().names:
            motion, page = SCENES[name](), Path(folder) / f"{name}.html"
            motion.export_html(page, " ")
            browser.open(f"{page.as_uri()}#curves=0")
            count = max(LEAST, round(RATE * motion.time[-1]))  # short motions are slowed down
            frames = [browser.frame(k / count) for k in range(count)]
            frames[0].save(
                GALLERY / f"{name}.webp", save_all=True, append_images=frames[1:], loop=0,
                duration=round(1000.0 / RATE), quality=60, method=4,
            )  # fmt: skip
            print(name, len(frames), "frames", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
