// Light, sky and ground.

const HORIZON = [0.86, 0.89, 0.92], ZENITH = [0.52, 0.64, 0.78];  // sRGB, as the fog is
const GROUND = [0.74, 0.76, 0.78];
const SUN = new THREE.Vector3(0.35, -0.5, 1.0).normalize();

// Lines of the grid, drawn by the ground's own material so that they take light and shadow.
function ruled(material, cell) {
  material.onBeforeCompile = (shader) => {
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", "#include <common>\nvarying vec2 spot;")
      .replace("#include <begin_vertex>", "#include <begin_vertex>\nspot = position.xy;");
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", `#include <common>
        varying vec2 spot;
        float ruled(vec2 x) {  // part of a pixel that lines cover
          vec2 wide = fwidth(x), off = abs(fract(x - 0.5) - 0.5);
          vec2 line = 1.0 - smoothstep(wide * 0.5, wide * 1.5, off);
          return max(line.x * (1.0 - min(2.0 * wide.x, 1.0)), line.y * (1.0 - min(2.0 * wide.y, 1.0)));
        }`)
      .replace("#include <map_fragment>", `
        vec2 cell = spot / ${cell.toExponential()};
        vec2 tile = mod(floor(cell), 2.0);
        float flatness = 1.0 - min(4.0 * max(fwidth(cell).x, fwidth(cell).y), 1.0);
        diffuseColor.rgb *= 1.0 - 0.07 * flatness * abs(tile.x - tile.y);
        diffuseColor.rgb *= 1.0 - 0.22 * ruled(cell) - 0.22 * ruled(cell / 10.0);`);
  };
  return material;
}

function groundMaterial(cell) {
  const made = new THREE.MeshStandardMaterial({ color: srgb(GROUND), roughness: 0.95 });
  made.envMapIntensity = 0.8;
  return ruled(made, cell);
}

class World {
  constructor(renderer, picture, scene) {
    const reach = scene.reach;
    this.cell = 10 ** Math.floor(Math.log10(reach));
    this.picture = picture;
    picture.fog = new THREE.Fog(new THREE.Color(...HORIZON), 1, 2);
    this.sky = new THREE.Mesh(new THREE.SphereGeometry(1, 32, 24), new THREE.ShaderMaterial({
      side: THREE.BackSide, depthWrite: false, fog: false,
      uniforms: { low: { value: new THREE.Color(...HORIZON) }, high: { value: new THREE.Color(...ZENITH) } },
      vertexShader: `varying vec3 way; void main() { way = position;
        gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }`,
      fragmentShader: `varying vec3 way; uniform vec3 low, high; void main() {
        gl_FragColor = vec4(mix(low, high, pow(max(normalize(way).z, 0.0), 0.6)), 1.0); }`,
    }));
    this.sky.renderOrder = -1;
    picture.add(this.sky);
    this.sun = new THREE.DirectionalLight(0xfff6e8, 0.6);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.radius = 9;
    this.sun.shadow.blurSamples = 16;
    this.sun.shadow.bias = -0.0004;
    picture.add(this.sun, this.sun.target);
    this.environment(renderer);
    for (const plane of scene.planes) this.plane(plane, reach);
    if (scene.floor !== null) this.floor(scene.floor, reach);
  }

  environment(renderer) {  // reflections: a bright sky above a dark ground
    const room = new THREE.Scene();
    room.add(new THREE.Mesh(new THREE.SphereGeometry(10, 32, 24), new THREE.ShaderMaterial({
      side: THREE.BackSide,
      vertexShader: `varying vec3 way; void main() { way = position;
        gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }`,
      fragmentShader: `varying vec3 way; void main() { float z = normalize(way).z;
        gl_FragColor = vec4(mix(vec3(0.22), vec3(0.40, 0.43, 0.47), smoothstep(-0.15, 0.25, z))
                            + 0.5 * smoothstep(0.85, 1.0, z), 1.0); }`,
    })));
    this.picture.environment = new THREE.PMREMGenerator(renderer).fromScene(room, 0.04).texture;
  }

  floor(height, reach) {  // reaches the horizon: it moves with the camera, by whole cells
    this.ground = new THREE.Mesh(new THREE.CircleGeometry(600 * reach, 96), groundMaterial(this.cell));
    this.ground.position.z = height;
    this.ground.receiveShadow = true;
    this.picture.add(this.ground);
  }

  plane(plane, reach) {
    const made = new THREE.Mesh(new THREE.PlaneGeometry(8 * reach, 8 * reach), groundMaterial(this.cell));
    made.material.side = THREE.DoubleSide;
    made.position.fromArray(plane.point);
    made.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), new THREE.Vector3(...plane.normal));
    made.receiveShadow = true;
    this.picture.add(made);
  }

  update(camera, target, distance, size) {  // fit fog, sky and shadows to the view
    Object.assign(this.picture.fog, { near: 6 * distance, far: 60 * distance });
    this.sky.position.copy(camera.position);
    this.sky.scale.setScalar(300 * distance);
    this.sun.target.position.copy(target);
    this.sun.position.copy(target).addScaledVector(SUN, 4 * size);
    const box = this.sun.shadow.camera;
    Object.assign(box, { left: -size, right: size, bottom: -size, top: size, near: size, far: 9 * size });
    box.updateProjectionMatrix();
    if (this.ground) {
      const jump = 10 * this.cell;
      this.ground.position.x = Math.round(target.x / jump) * jump;
      this.ground.position.y = Math.round(target.y / jump) * jump;
    }
  }
}
