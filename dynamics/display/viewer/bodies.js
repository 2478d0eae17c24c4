// Bodies and static geometry as meshes of three.js. Lengths in m, z up.

const srgb = (rgb) => new THREE.Color(...rgb).convertSRGBToLinear();
const quaternion = (q) => new THREE.Quaternion(q[1], q[2], q[3], q[0]);
const CREASE = Math.cos(40 * Math.PI / 180);  // edges sharper than this stay sharp

// Corners with normals: mean over the faces at a vertex that are within the crease angle.
function smooth(vertices, faces) {
  const count = faces.length / 3, normal = new Float32Array(3 * count);
  const around = Array.from({ length: vertices.length / 3 }, () => []);
  const a = new THREE.Vector3(), b = new THREE.Vector3(), c = new THREE.Vector3();
  for (let f = 0; f < count; f++) {
    a.fromArray(vertices, 3 * faces[3 * f]);
    b.fromArray(vertices, 3 * faces[3 * f + 1]).sub(a);
    c.fromArray(vertices, 3 * faces[3 * f + 2]).sub(a);
    b.cross(c).toArray(normal, 3 * f);  // twice the area long
    for (let i = 0; i < 3; i++) around[faces[3 * f + i]].push(f);
  }
  const points = new Float32Array(9 * count), normals = new Float32Array(9 * count);
  for (let f = 0; f < count; f++) {
    a.fromArray(normal, 3 * f).normalize();
    for (let i = 0; i < 3; i++) {
      const v = faces[3 * f + i], at = 9 * f + 3 * i;
      b.set(0, 0, 0);
      for (const other of around[v]) {
        c.fromArray(normal, 3 * other);
        if (c.dot(a) > CREASE * c.length()) b.add(c);
      }
      (b.lengthSq() > 0 ? b.normalize() : a).toArray(normals, at);
      points.set(vertices.subarray(3 * v, 3 * v + 3), at);
    }
  }
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(points, 3));
  geometry.setAttribute("normal", new THREE.BufferAttribute(normals, 3));
  return geometry;
}

function surface(scene, mesh) {
  const raw = integers(scene, mesh.vertices), vertices = new Float32Array(raw.length);
  raw.forEach((x, i) => { vertices[i] = mesh.low[i % 3] + x * mesh.step; });
  const faces = integers(scene, mesh.faces), geometry = smooth(vertices, faces);
  if (mesh.colors) {
    const palette = mesh.palette.map(srgb), index = integers(scene, mesh.colors);
    const colors = new Float32Array(3 * faces.length);
    index.forEach((k, f) => { for (let i = 0; i < 3; i++) palette[k].toArray(colors, 9 * f + 3 * i); });
    geometry.setAttribute("color", new THREE.BufferAttribute(colors, 3));
  }
  return geometry;
}

class Shop {  // one geometry for equal shapes, one material for equal colours
  constructor(scene) { this.scene = scene; this.made = new Map(); }

  once(key, make) {
    if (!this.made.has(key)) this.made.set(key, make());
    return this.made.get(key);
  }

  geometry(part) {
    const [a, b] = part.size, key = part.kind + (part.mesh ?? part.size.join());
    return this.once(key, () => {
      if (part.kind === "box") return new THREE.BoxGeometry(...part.size);
      if (part.kind === "sphere") return new THREE.SphereGeometry(a, 48, 32);
      if (part.kind === "mesh") return surface(this.scene, this.scene.meshes[part.mesh]);
      const round = part.kind === "capsule" ? new THREE.CapsuleGeometry(a, b, 12, 32)
                                            : new THREE.CylinderGeometry(a, a, b, 48);
      return round.rotateX(Math.PI / 2);  // its axis is y there, z here
    });
  }

  material(part) {
    const own = part.kind === "mesh" && this.scene.meshes[part.mesh].colors !== undefined;
    return this.once(`paint ${part.color} ${part.kind === "mesh"} ${own}`, () => {
      const made = new THREE.MeshStandardMaterial({ roughness: 0.5, metalness: 0.0 });
      if (own) made.vertexColors = true; else made.color = srgb(part.color.slice(0, 3));
      if (part.kind === "mesh") made.side = THREE.DoubleSide;
      if (part.color[3] < 1) Object.assign(made, { transparent: true, opacity: part.color[3] });
      return made;
    });
  }

  body(entry) {
    const group = new THREE.Group();
    for (const part of entry.parts) {
      const mesh = new THREE.Mesh(this.geometry(part), this.material(part));
      mesh.position.fromArray(part.position);
      mesh.quaternion.copy(quaternion(part.orientation));
      mesh.castShadow = part.color[3] > 0.5;
      mesh.receiveShadow = true;
      mesh.userData.owner = group;
      group.add(mesh);
    }
    group.userData.name = entry.name;
    return group;
  }
}
