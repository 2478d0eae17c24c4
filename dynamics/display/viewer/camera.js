// Camera that turns about a point: drag to turn, shift or right button to pan, wheel or pinch to zoom.

class Orbit {
  constructor(canvas, changed) {
    this.camera = new THREE.PerspectiveCamera(35, 1, 0.01, 1000);
    this.camera.up.set(0, 0, 1);
    Object.assign(this, { canvas, changed, turn: -1, rise: 0.25, distance: 1, fingers: new Map() });
    this.target = new THREE.Vector3();
    this.margin = { left: 0, right: 0, top: 0, bottom: 0 };  // px that panels cover
    canvas.addEventListener("pointerdown", (e) => {
      canvas.setPointerCapture(e.pointerId);
      this.fingers.set(e.pointerId, [e.clientX, e.clientY]);
    });
    for (const over of ["pointerup", "pointercancel"])
      canvas.addEventListener(over, (e) => this.fingers.delete(e.pointerId));
    canvas.addEventListener("pointermove", (e) => this.drag(e));
    canvas.addEventListener("contextmenu", (e) => e.preventDefault());
    canvas.addEventListener("wheel", (e) => {
      this.zoom(Math.exp(0.001 * e.deltaY));
      e.preventDefault();
    }, { passive: false });
  }

  drag(e) {
    const last = this.fingers.get(e.pointerId);
    if (!last) return;
    const [dx, dy] = [e.clientX - last[0], e.clientY - last[1]];
    if (this.fingers.size === 2) {
      const other = [...this.fingers].find(([id]) => id !== e.pointerId)[1];
      const gap = (x, y) => Math.hypot(x - other[0], y - other[1]);
      this.zoom(gap(...last) / Math.max(1, gap(e.clientX, e.clientY)));
      this.pan(dx / 2, dy / 2);
    } else if (e.buttons > 1 || e.shiftKey) this.pan(dx, dy);
    else {
      this.turn -= 0.008 * dx;
      this.rise = Math.max(-0.3, Math.min(1.55, this.rise + 0.008 * dy));
    }
    this.fingers.set(e.pointerId, [e.clientX, e.clientY]);
    this.changed();
  }

  zoom(factor) { this.distance *= factor; this.changed(); }

  pan(dx, dy) {
    const s = 2 * this.distance * Math.tan(this.camera.fov * Math.PI / 360) / this.canvas.clientHeight;
    const m = this.camera.matrixWorld.elements;
    for (let i = 0; i < 3; i++) this.target.setComponent(i, this.target.getComponent(i) - s * dx * m[i] + s * dy * m[4 + i]);
  }

  frame(center, half) {  // the box of these half edges into the free part of the window
    const tan = Math.tan(this.camera.fov * Math.PI / 360), h = this.canvas.clientHeight;
    const [wide, high] = this.free().map((size) => tan * Math.max(size, 80) / h);
    this.target.copy(center);
    this.distance = 1;
    this.update();
    const right = new THREE.Vector3(), up = new THREE.Vector3(), back = new THREE.Vector3();
    this.camera.matrixWorld.extractBasis(right, up, back);
    let distance = 0;
    for (let i = 0; i < 8; i++) {
      const p = new THREE.Vector3(i & 1 ? half.x : -half.x, i & 2 ? half.y : -half.y, i & 4 ? half.z : -half.z);
      const side = Math.max(Math.abs(p.dot(right)) / wide, Math.abs(p.dot(up)) / high);
      distance = Math.max(distance, p.dot(back) + side);
    }
    this.distance = 1.12 * distance || 1;
    this.changed();
  }

  free() {
    const { left, right, top, bottom } = this.margin;
    return [this.canvas.clientWidth - left - right, this.canvas.clientHeight - top - bottom];
  }

  update() {
    const w = this.canvas.clientWidth, h = this.canvas.clientHeight, m = this.margin;
    const c = Math.cos(this.rise), camera = this.camera;
    camera.position.set(c * Math.cos(this.turn), c * Math.sin(this.turn), Math.sin(this.rise))
      .multiplyScalar(this.distance).add(this.target);
    camera.lookAt(this.target);
    camera.aspect = w / h;
    camera.near = this.distance / 60;
    camera.far = this.distance * 700;
    camera.setViewOffset(w, h, (m.right - m.left) / 2, (m.bottom - m.top) / 2, w, h);
    camera.updateMatrixWorld();
  }
}
