// Data of the scene, unpacked: JSON and arrays. See packing.py for the layout.

const by = (id) => document.getElementById(id);

function opened(bytes) {
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const scene = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  scene.data = bytes.subarray(4 + length);
  return scene;
}

// Numbers of a time series (records, columns): fixed-point differences in time, by byte planes.
function series(scene, ref) {
  const [k, m] = ref.shape, n = k * m, out = new Float32Array(n), sum = new Int32Array(m);
  const d = scene.data.subarray(ref.at, ref.at + 4 * n);
  for (let i = 0; i < n; i++) {
    const step = d[i] | (d[n + i] << 8) | (d[2 * n + i] << 16) | (d[3 * n + i] << 24);
    const j = i % m;
    sum[j] = (sum[j] + step) | 0;
    out[i] = sum[j] * ref.unit;
  }
  return out;
}

function integers(scene, ref) {
  const kind = ref.bytes === 2 ? Uint16Array : Uint32Array;
  return new kind(scene.data.slice(ref.at, ref.at + ref.bytes * ref.count).buffer);
}
