"""Random MJCF files: trees of bodies with all kinds of joints, actuators, tendons and sensors."""

import numpy as np

#: Joints of a body, and how often they are drawn.
JOINTS = {
    (): 0.08, ("hinge",): 0.4, ("slide",): 0.12, ("ball",): 0.12, ("hinge",) * 2: 0.1,
    ("hinge",) * 3: 0.06, ("hinge", "slide"): 0.04, ("slide", "hinge"): 0.04,
    ("slide",) * 2: 0.02, ("slide",) * 3: 0.02,
}  # fmt: skip
#: Most bodies, and joints from the world to the last one.
BODIES, DEPTH = 7, 4
ON_SITES = ("gyro", "velocimeter", "accelerometer")
ON_FRAMES = ("pos", "quat", "linvel", "angvel", "xaxis", "yaxis", "zaxis")


def numbers(values):
    return " ".join(repr(round(float(x), 4)) for x in np.ravel(values))


class Family:
    """One random file.

    Attributes
    ----------
    text : str
    joints : list of str
        Hinges and slides.
    """

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.degrees, self.framed = self.rng.random(2) < [0.5, 0.3]
        self.bodies, self.sites, self.joints, self.count = [], [], [], 0
        trees = "".join(self.body(0) for _ in range(self.rng.integers(1, 3)))
        angle = "degree" if self.degrees else "radian"
        order = self.maybe(0.2, f'eulerseq="{self.any("xyz", "zyx", "XYZ", "xYz")}"')
        gravity = numbers([self.u(-3, 3), 0, self.u(-10, -3)])
        self.text = (
            f'<mujoco><compiler angle="{angle}" {order}/><option gravity="{gravity}"/>'
            f"<worldbody>{trees}</worldbody><tendon>{self.tendons()}</tendon>"
            f"<actuator>{self.actuators()}</actuator><sensor>{self.sensors()}</sensor></mujoco>"
        )

    def u(self, low, high, size=None):
        return self.rng.uniform(low, high, size)

    def any(self, *options):
        return options[self.rng.integers(len(options))]

    def maybe(self, chance, text):
        return text if self.rng.random() < chance else ""

    def angle(self, radians):
        return np.degrees(radians) if self.degrees else radians

    def vector(self, most=0.3):
        return numbers(self.u(-most, most, 3))

    def turn(self):
        """An orientation in one of MJCF's ways, or none."""
        normal = self.rng.normal
        return self.any(
            "",
            f'quat="{numbers(normal(size=4))}"',
            f'euler="{numbers(self.angle(self.u(-2, 2, 3)))}"',
            f'axisangle="{numbers(normal(size=3))} {numbers(self.angle(self.u(-2, 2)))}"',
            f'zaxis="{numbers(normal(size=3))}"',
            f'xyaxes="{numbers(normal(size=6))}"',
        )

    def joint(self, kind):
        name = f"j{self.count}"
        self.count += 1
        parts = [f'<joint name="{name}" type="{kind}"']
        parts.append(self.maybe(0.5, f'pos="{self.vector(0.1)}"'))
        parts.append(self.maybe(0.4, f'damping="{numbers(self.u(0.01, 0.5))}"'))
        parts.append(self.maybe(0.4, f'stiffness="{numbers(self.u(0.5, 10))}"'))
        if kind != "ball":
            self.joints.append(name)
            scale = self.angle(1.0) if kind == "hinge" else 1.0
            parts.append(f'axis="{numbers(self.rng.normal(size=3))}"')
            parts.append(self.maybe(0.3, f'armature="{numbers(self.u(0.001, 0.1))}"'))
            for what in ("springref", "ref"):
                found = self.maybe(0.2, numbers(scale * self.u(-0.5, 0.5)))
                parts.append(found and f'{what}="{found}"')
        return " ".join(parts) + "/>"

    def geom(self):
        size = numbers(self.u(0.05, 0.15, 3))
        shape = self.any(
            f'type="sphere" size="{size}"', f'type="box" size="{size}"',
            f'type="capsule" size="{size}"', f'type="cylinder" size="{size}"',
            f'type="ellipsoid" size="{size}"',
        )  # fmt: skip
        weight = self.any("", f'mass="{numbers(self.u(0.3, 2))}"', 'density="1500"')
        return f'<geom {shape} pos="{self.vector(0.1)}" {self.turn()} {weight}/>'

    def body(self, depth):
        name = f"b{len(self.bodies)}"
        self.bodies.append(name)
        weightless = self.maybe(0.1, f'gravcomp="{numbers(self.u(0, 1))}"')
        text = f'<body name="{name}" pos="{self.vector(0.4)}" {self.turn()} {weightless}>'
        if depth == 0 and self.rng.random() < 0.4:
            text += "<freejoint/>"
        else:
            kinds = list(JOINTS)
            chosen = kinds[self.rng.choice(len(kinds), p=list(JOINTS.values()))]
            text += "".join(self.joint(kind) for kind in chosen)
        if self.rng.random() < 0.3:
            moments = 0.05 + self.u(0.0, 0.04, 3)
            place = f'pos="{self.vector(0.1)}" {self.turn()}'
            text += f'<inertial mass="1.3" diaginertia="{numbers(moments)}" {place}/>'
        else:
            text += "".join(self.geom() for _ in range(self.rng.integers(1, 4)))
        if self.rng.random() < 0.7:
            self.sites.append(f"s{name}")
            text += f'<site name="s{name}" pos="{self.vector(0.2)}" {self.turn()}/>'
        for _ in range(self.rng.integers(0, 3) if depth < DEPTH else 0):
            if len(self.bodies) < BODIES:
                inner = self.body(depth + 1)
                if self.framed:
                    inner = f'<frame pos="{self.vector(0.2)}" {self.turn()}>{inner}</frame>'
                text += inner
        return text + "</body>"

    def tendons(self):
        text = ""
        if len(self.joints) > 1 and self.rng.random() < 0.5:
            pair = self.rng.choice(self.joints, 2, replace=False)
            ends = "".join(
                f'<joint joint="{one}" coef="{numbers(self.u(-1, 1))}"/>' for one in pair
            )
            text += f'<fixed name="fixed" stiffness="3" damping="0.2">{ends}</fixed>'
        if len(self.sites) > 1 and self.rng.random() < 0.5:
            pair = self.rng.choice(self.sites, 2, replace=False)
            ends = "".join(f'<site site="{one}"/>' for one in pair)
            text += f'<spatial name="spatial" stiffness="20" damping="0.5">{ends}</spatial>'
        self.pulled = [one for one in ("fixed", "spatial") if f'"{one}"' in text]
        return text

    def actuators(self):
        text = "".join(
            f'<motor name="pulls {one}" tendon="{one}" gear="{numbers(self.u(-1, 1))}"/>'
            for one in self.pulled
        )
        for k in range(self.rng.integers(0, 4) if self.joints else 0):
            own = f'name="a{k}" joint="{self.any(*self.joints)}" gear="{numbers(self.u(-2, 2))}"'
            own += self.maybe(0.4, ' ctrllimited="true" ctrlrange="-0.6 0.4"')
            own += self.maybe(0.3, ' forcelimited="true" forcerange="-0.5 0.7"')
            kind = self.any(
                f"<motor {own}/>", f'<general {own} gainprm="1.7"/>',
                f'<position {own} kp="4" kv="0.3"/>', f'<velocity {own} kv="0.7"/>',
                f'<general {own} gainprm="2" biastype="affine" biasprm="0.3 -2 -0.4"/>',
            )  # fmt: skip
            text += kind
        if self.sites and self.rng.random() < 0.3:
            gear = numbers(self.u(-1, 1, 6))
            text += f'<general name="thrust" site="{self.sites[0]}" gear="{gear}"/>'
        return text

    def sensors(self):
        text = ""
        for site in self.sites:
            for kind in ON_SITES:
                text += self.maybe(0.2, f'<{kind} name="{kind} {site}" site="{site}"/>')
            for kind in ON_FRAMES:
                seen = self.maybe(0.5, f'reftype="xbody" refname="{self.any(*self.bodies)}"')
                owner = f'name="{kind} {site}" objtype="site" objname="{site}"'
                text += self.maybe(0.2, f"<frame{kind} {owner} {seen}/>")
        for joint in self.joints:
            text += f'<jointpos name="at {joint}" joint="{joint}"/>'
            text += f'<jointvel name="rate {joint}" joint="{joint}"/>'
        return text
