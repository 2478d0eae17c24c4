"""Random SDF files: frames in frames, nested models, includes, merged includes and worlds."""

import random

import numpy as np

from .sdf import joint, named

KINDS = ("revolute", "prismatic", "continuous", "fixed", "ball", "universal")
CROSS = "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>"


class Family:
    """Draws models; names differ in all of them.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed):
        self.draw, self.seed, self.count = random.Random(seed), seed, 0

    def name(self, letter):
        """A new name."""
        self.count += 1
        return f"{letter}{self.seed}x{self.count}"

    def numbers(self, count):
        """Numbers from -1 to 1 of three digits."""
        return [round(self.draw.uniform(-1, 1), 3) for _ in range(count)]

    def pose(self, frames=(), often=1.0):
        """A <pose> in any format, relative to any of the frames, or none."""
        if self.draw.random() > often:
            return ""
        values, form = self.numbers(6), ""
        base = self.draw.choice(frames) if frames and self.draw.random() < 0.6 else ""
        kind = self.draw.random()
        if kind < 0.2:
            form = ' degrees="true"'
        elif kind < 0.4:
            q = np.array(self.numbers(4)) + [0, 0, 0, 2]
            values, form = values[:3] + list(q), ' rotation_format="quat_xyzw"'
            values[3:] = (q / np.linalg.norm(q)).tolist()
        relative = f' relative_to="{base}"' if base else ""
        return f"<pose{relative}{form}>{' '.join(map(repr, values))}</pose>"

    def link(self, name, frames):
        """A link with a full inertia."""
        moments = "".join(f"<i{k}{k}>{self.draw.uniform(0.1, 0.19)}</i{k}{k}>" for k in "xyz")
        inertia = f"{moments}<ixy>0.01</ixy><ixz>-0.005</ixz><iyz>0.002</iyz>"
        inertial = f"{self.pose()}<mass>{self.draw.uniform(0.5, 3)}</mass>"
        inside = f"<inertial>{inertial}<inertia>{inertia}</inertia></inertial>"
        return f'<link name="{name}">{self.pose(frames, 0.8)}{inside}</link>'

    def joint(self, parent, child, frames):
        """A joint of any kind, its axis in any frame."""
        kind = self.draw.choice(KINDS)
        more = self.pose(frames, 0.6)
        if kind == "universal":
            more += CROSS
        elif kind not in ("fixed", "ball"):
            axis = np.array(self.numbers(3)) + [0, 0, 2]
            base = self.draw.choice(frames) if self.draw.random() < 0.5 else ""
            said = f' expressed_in="{base}"' if base else ""
            xyz = " ".join(map(repr, (axis / np.linalg.norm(axis)).tolist()))
            more += f"<axis><xyz{said}>{xyz}</xyz></axis>"
        return joint(self.name("j"), kind, parent, child, more=more)

    def model(self, depth=0):
        """Contents of a model, its links, and the frames that others may name."""
        parts, links, frames = [], [], ["__model__"]
        for _ in range(self.draw.randint(2, 4)):
            links.append(self.name("l"))
            parts.append(self.link(links[-1], frames))
            frames.append(links[-1])
            if self.draw.random() < 0.6:
                mark = self.name("f")
                to = f' attached_to="{self.draw.choice(frames)}"'
                parts.append(f'<frame name="{mark}"{to}>{self.pose(frames, 0.8)}</frame>')
                frames.append(mark)
        ends = list(links)
        for _ in range(self.draw.randint(0, 2) if depth < 2 else 0):
            inner = self.name("m")
            text, inside, marks = self.model(depth + 1)
            more = self.placement(marks)
            parts.append(named(inner, self.pose(frames), text, more=more))
            frames += [inner, *(f"{inner}::{one}" for one in marks)]
            ends.append(f"{inner}::{inside[0]}")
        for k in range(1, len(ends)):
            parts.append(self.joint(self.draw.choice(ends[:k]), ends[k], frames))
        self.draw.shuffle(parts)
        return "".join(parts), links, frames[1:]

    def placement(self, frames):
        """A placement frame of a model, or none."""
        chosen = self.draw.choice(frames) if self.draw.random() < 0.5 else ""
        return f' placement_frame="{chosen}"' if chosen else ""

    def file(self):
        """A file of one model, its links and frames."""
        text, links, frames = self.model()
        more = f' canonical_link="{links[0]}"' + self.placement(frames)
        body = named("top", self.pose(often=0.5), text, more=more)
        return f'<sdf version="1.9">{body}</sdf>', links, frames

    def including(self, parts):
        """A model that includes or merges others: (path, links, frames) each."""
        inside = [self.link("base", []), '<frame name="own" attached_to="base"/>']
        frames = ["base", "own"]
        for path, links, marks in parts:
            merge, name = self.draw.random() < 0.5, self.name("i")
            place = self.draw.choice(marks) if self.draw.random() < 0.5 else ""
            frame = f"<placement_frame>{place}</placement_frame>" if place else ""
            said = f"<uri>{path}</uri><name>{name}</name>{self.pose(frames)}{frame}"
            mark = ' merge="true"' * merge
            inside.append(f"<include{mark}>{said}</include>")
            before = "" if merge else f"{name}::"
            frames += [before + one for one in marks]
            inside.append(self.joint("base", before + links[0], frames))
        return f'<sdf version="1.10">{named("all", self.pose(), *inside)}</sdf>'

    def world(self):
        """A world of models that stand in each other's frames."""
        inside, frames, firsts = [], ["world"], []
        for _ in range(self.draw.randint(1, 3)):
            text, links, marks = self.model()
            name = self.name("m")
            inside.append(named(name, self.pose(frames), text))
            frames += [name, *(f"{name}::{one}" for one in marks)]
            firsts.append(f"{name}::{links[0]}")
            mark = self.name("f")
            to = self.draw.choice(frames)
            inside.append(f'<frame name="{mark}" attached_to="{to}">{self.pose(frames)}</frame>')
            frames.append(mark)
        if len(firsts) > 1:
            inside.append(joint("w", "fixed", *firsts[:2], more=self.pose(frames)))
        self.draw.shuffle(inside)
        return f'<sdf version="1.10"><world name="w">{"".join(inside)}</world></sdf>'
