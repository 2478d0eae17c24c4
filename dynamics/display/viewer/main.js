// The page: scene, time, panels.

const ARROW = 0xcc0099, AXIS = 0xd55e00;

function overlay(color) {  // drawn over all else
  return new THREE.MeshBasicMaterial({ color: new THREE.Color(color).convertSRGBToLinear(),
    depthTest: false, transparent: true, fog: false, toneMapped: false });
}

function shaft(radius, from, to) {
  return new THREE.CylinderGeometry(radius, radius, to - from, 12).rotateX(Math.PI / 2)
    .translate(0, 0, (from + to) / 2);
}

class Arrow extends THREE.Group {  // along z; `point` sets its length
  constructor(material) {
    super();
    this.shaft = new THREE.Mesh(shaft(0.02, 0, 1), material);
    this.head = new THREE.Mesh(new THREE.ConeGeometry(0.06, 0.18, 16).rotateX(Math.PI / 2), material);
    this.add(this.shaft, this.head);
    this.renderOrder = this.shaft.renderOrder = this.head.renderOrder = 3;
  }

  point(way, length, reach) {
    this.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), way);
    this.scale.setScalar(0.3 * reach);
    this.shaft.scale.z = Math.max(0.02, length - 0.15);
    this.head.position.z = Math.max(0.1, length - 0.09);
  }
}

class Motion {  // poses over time
  constructor(scene) {
    this.time = series(scene, scene.time);
    this.places = series(scene, scene.positions);
    this.turns = series(scene, scene.orientations);
    this.points = series(scene, scene.points);
    this.forces = series(scene, scene.forces);
    Object.assign(this, { n: scene.bodies.length, last: this.time.length - 1 });
    this.a = new THREE.Quaternion();
    this.b = new THREE.Quaternion();
    this.x = new THREE.Vector3();
  }

  turn(out, at) {
    const q = this.turns;
    out.set(q[at + 1], q[at + 2], q[at + 3], q[at]).normalize();
  }

  index(t) {  // last record that is not after t
    let low = 0, high = this.last;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.time[middle] <= t + 1e-7) low = middle; else high = middle - 1;
    }
    return low;
  }

  place(groups, t) {  // between records: positions linearly, orientations by slerp
    const k = this.index(t), next = Math.min(k + 1, this.last);
    const span = this.time[next] - this.time[k];
    const s = span > 0 ? Math.max(0, Math.min(1, (t - this.time[k]) / span)) : 0;
    groups.forEach((group, i) => {
      const at = k * this.n + i, to = next * this.n + i;
      this.x.fromArray(this.places, 3 * to);
      group.position.fromArray(this.places, 3 * at).lerp(this.x, s);
      this.turn(this.a, 4 * at);
      this.turn(this.b, 4 * to);
      group.quaternion.slerpQuaternions(this.a, this.b, s);
    });
    return k;
  }
}

class Page {
  constructor(scene) {
    this.scene = scene;
    this.canvas = by("view");
    this.renderer = new THREE.WebGLRenderer({ canvas: this.canvas, antialias: true });
    this.renderer.outputEncoding = THREE.sRGBEncoding;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.VSMShadowMap;
    this.picture = new THREE.Scene();
    this.motion = new Motion(scene);
    this.orbit = new Orbit(this.canvas, () => { this.stale = true; });
    this.world = new World(this.renderer, this.picture, scene);
    const shop = new Shop(scene);
    this.bodies = scene.bodies.map((entry) => shop.body(entry));
    this.still = scene.still.map((entry) => shop.body(entry));
    this.picture.add(...this.bodies, ...this.still);
    this.marks(scene);
    this.curves = scene.curves.map((c) => new Chart(scene, c, series(scene, scene.curve_time), (t) => this.seek(t)));
    this.subject = null;
    this.centre = new THREE.Vector3();
    this.before = new THREE.Vector3();
  }

  marks(scene) {
    const r = scene.reach, axis = overlay(AXIS), force = overlay(ARROW);
    const colors = [0xd62728, 0x2ca02c, 0x1f77b4].map(overlay);
    this.frames = this.bodies.map((body) => {
      const frame = new THREE.Group();
      colors.forEach((paint, e) => {
        const one = new THREE.Mesh(shaft(0.03, 0, 1), paint);
        if (e === 0) one.rotation.y = Math.PI / 2;
        if (e === 1) one.rotation.x = -Math.PI / 2;
        one.renderOrder = 2;
        frame.add(one);
      });
      frame.scale.setScalar(0.15 * r);
      body.add(frame);
      return frame;
    });
    this.axes = scene.joints.flatMap((joint) => joint.axes.map((turn) => {
      const one = new THREE.Mesh(shaft(0.05, -1, 1), axis);
      one.position.fromArray(joint.point);
      one.quaternion.copy(quaternion(turn));
      one.scale.setScalar(0.12 * r);
      one.renderOrder = 2;
      (joint.body < 0 ? this.picture : this.bodies[joint.body]).add(one);
      return one;
    }));
    this.arrows = Array.from({ length: scene.touches }, () => new Arrow(force));
    if (this.arrows.length) this.picture.add(...this.arrows);
  }

  pull(k) {  // contact forces of record k
    const on = by("forces").checked, n = this.arrows.length, way = new THREE.Vector3();
    this.arrows.forEach((arrow, i) => {
      const at = 3 * (k * n + i);
      way.fromArray(this.motion.forces, at);
      const length = Math.min(3, way.length());
      arrow.visible = on && length > 1e-3;
      if (!arrow.visible) return;
      arrow.position.fromArray(this.motion.points, at);
      arrow.point(way.normalize(), length, this.scene.reach);
    });
  }

  middle() {  // of what the camera follows
    const of = this.subject ? [this.subject] : this.bodies;
    this.centre.set(0, 0, 0);
    for (const body of of) this.centre.addScaledVector(body.position, 1 / of.length);
    return this.centre;
  }

  seek(t) { play(false); this.now = t; this.stale = true; }

  fit() {
    const box = new THREE.Box3(new THREE.Vector3(...this.scene.low), new THREE.Vector3(...this.scene.high));
    const half = box.getSize(new THREE.Vector3()).multiplyScalar(0.5);
    this.size = half.length() || 1;
    this.layout();
    this.orbit.frame(box.getCenter(new THREE.Vector3()), half);
    if (by("follow").checked) this.orbit.target.copy(this.middle());
    this.before.copy(this.middle());
  }

  layout() {
    const panel = by("curves"), open = !panel.hidden, wide = innerWidth > 720;
    panel.style.bottom = wide ? "" : `${by("bar").offsetHeight + 18}px`;
    this.orbit.margin = { left: 0, top: 0, right: open && wide ? panel.offsetWidth + 12 : 0,
      bottom: by("bar").offsetHeight + 12 + (open && !wide ? panel.offsetHeight + 8 : 0) };
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.setSize(this.canvas.clientWidth, this.canvas.clientHeight, false);
    this.stale = true;
  }

  draw() {
    const k = this.motion.place(this.bodies, this.now);
    const middle = this.middle();
    if (by("follow").checked) this.orbit.target.add(middle).sub(this.before);
    this.before.copy(middle);
    for (const frame of this.frames) frame.visible = by("frames").checked;
    for (const axis of this.axes) axis.visible = by("axes").checked;
    this.pull(k);
    this.orbit.update();
    const { target, distance } = this.orbit;
    this.world.update(this.orbit.camera, target, distance, Math.min(1.3 * this.size, 1.5 * distance));
    this.renderer.render(this.picture, this.orbit.camera);
    const end = this.motion.time[this.motion.last], start = this.motion.time[0];
    by("clock").textContent = `${this.now.toFixed(2)} of ${end.toFixed(2)} s`;
    by("scrub").value = end > start ? 1000 * (this.now - start) / (end - start) : 0;
    if (!by("curves").hidden) for (const chart of this.curves) chart.draw(this.now);
    this.stale = false;
  }

  under(e) {  // body under the pointer
    const x = 2 * e.clientX / this.canvas.clientWidth - 1, y = 1 - 2 * e.clientY / this.canvas.clientHeight;
    const ray = new THREE.Raycaster();
    ray.setFromCamera({ x, y }, this.orbit.camera);
    const found = ray.intersectObjects([...this.bodies, ...this.still], true)
      .find((hit) => hit.object.userData.owner);
    return found ? found.object.userData.owner : null;
  }

  name(e) {
    const body = e.buttons ? null : this.under(e), tip = by("tip");
    tip.hidden = !body;
    if (body) {
      tip.textContent = body.userData.name;  // text, never markup
      tip.style.left = `${Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
      tip.style.top = `${e.clientY + 14}px`;
    }
  }

  listen() {
    const { motion } = this;
    by("play").onclick = () => play(!playing);
    by("fit").onclick = () => this.fit();
    by("scrub").oninput = () => {
      const part = Number(by("scrub").value) / 1000;
      this.seek(motion.time[0] + part * (motion.time[motion.last] - motion.time[0]));
    };
    for (const id of ["axes", "frames", "forces", "follow"]) by(id).onchange = () => { this.stale = true; };
    by("charts").onchange = () => { by("curves").hidden = !by("charts").checked; this.fit(); };
    addEventListener("keydown", (e) => {
      if (e.target !== document.body) return;
      if (e.key === " ") { play(!playing); e.preventDefault(); }
      if (e.key === "f") this.fit();
    });
    addEventListener("resize", () => this.layout());
    this.canvas.addEventListener("pointermove", (e) => this.name(e));
    this.canvas.addEventListener("pointerleave", () => { by("tip").hidden = true; });
    this.canvas.addEventListener("dblclick", (e) => {
      const body = this.under(e);
      this.subject = this.bodies.includes(body) ? body : null;
      by("follow").checked = this.subject !== null;
      this.before.copy(this.middle());
    });
  }
}

let playing = false;
function play(on) { playing = on; by("play").textContent = on ? "Pause" : "Play"; }

async function start(bytes) {
  const scene = opened(bytes), asked = new URLSearchParams(location.hash.slice(1));
  const page = new Page(scene), { motion, orbit } = page;
  by("name").textContent = scene.title;
  by("touching").hidden = scene.touches === 0;
  for (const id of ["axes", "frames", "forces", "follow"]) by(id).checked = asked.has(id);
  if (scene.roams) by("follow").checked = true;
  by("chart").hidden = page.curves.length === 0;
  by("charts").checked = page.curves.length > 0 && (innerWidth > 720 || asked.has("curves"));
  if (asked.get("curves") === "0") by("charts").checked = false;
  by("curves").hidden = !by("charts").checked;
  page.now = Math.min(Math.max(Number(asked.get("time")) || motion.time[0], motion.time[0]),
                      motion.time[motion.last]);
  const [wx, wy] = [0, 1].map((i) => scene.high[i] - scene.low[i]);
  orbit.turn = wx < 0.4 * wy ? -0.35 : -1.2;
  motion.place(page.bodies, page.now);
  page.layout();
  page.fit();
  page.listen();
  page.draw();
  page.fit();  // now that the bar has its text and its height
  play(asked.has("play"));
  let before = performance.now();
  const frame = (clock) => {
    if (playing) {
      page.now += Math.min(0.1, (clock - before) / 1000) * Number(by("speed").value);
      if (page.now > motion.time[motion.last]) page.now = motion.time[0];
      page.stale = true;
    }
    before = clock;
    if (page.stale) page.draw();
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  document.body.dataset.ready = "yes";
}
