// Curves beside the scene: one chart per quantity, a cursor at the time shown, drag to scrub.

const PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f",
                 "#332288", "#117733", "#882255"];
const short = (x) => Number(x.toPrecision(3)).toString();

class Chart {
  constructor(scene, curve, times, scrub) {
    this.times = times;
    this.names = curve.names;
    this.values = series(scene, curve.values);
    this.low = Math.min(...this.values);  // charts hold a few thousand numbers
    this.high = Math.max(...this.values);
    this.ends = [this.low, this.high].map(short);
    const pad = 0.06 * (this.high - this.low) || Math.abs(this.high) * 0.1 || 1;
    this.low -= pad;
    this.high += pad;
    const box = document.createElement("figure"), head = document.createElement("figcaption");
    head.textContent = `${curve.title}, ${curve.unit}`;
    this.canvas = document.createElement("canvas");
    this.legend = document.createElement("div");
    this.legend.className = "legend";
    this.marks = curve.names.map((name, i) => {
      const item = document.createElement("span"), value = document.createElement("b");
      item.style.color = PALETTE[i % PALETTE.length];
      item.append(name + " ", value);
      this.legend.append(item);
      return value;
    });
    box.append(head, this.canvas, this.legend);
    by("curves").append(box);
    const at = (e) => {
      const box = this.canvas.getBoundingClientRect();
      const part = Math.max(0, Math.min(1, (e.clientX - box.left) / box.width));
      scrub(this.times[0] + part * (this.times[this.times.length - 1] - this.times[0]));
    };
    this.canvas.onpointerdown = (e) => { this.canvas.setPointerCapture(e.pointerId); at(e); };
    this.canvas.onpointermove = (e) => { if (e.buttons) at(e); };
  }

  draw(now) {
    const dpr = devicePixelRatio, w = this.canvas.clientWidth, h = this.canvas.clientHeight;
    if (!w) return;
    if (this.canvas.width !== Math.round(w * dpr)) {
      this.canvas.width = Math.round(w * dpr);
      this.canvas.height = Math.round(h * dpr);
    }
    const pen = this.canvas.getContext("2d"), t = this.times, last = t.length - 1, m = this.names.length;
    pen.setTransform(dpr, 0, 0, dpr, 0, 0);
    pen.clearRect(0, 0, w, h);
    const x = (s) => w * (s - t[0]) / (t[last] - t[0] || 1);
    const y = (v) => h - h * (v - this.low) / (this.high - this.low);
    pen.lineWidth = 1;
    pen.strokeStyle = "#d5d9de";
    if (this.low < 0 && this.high > 0) { pen.beginPath(); pen.moveTo(0, y(0)); pen.lineTo(w, y(0)); pen.stroke(); }
    pen.lineWidth = 1.6;
    for (let j = 0; j < m; j++) {
      pen.strokeStyle = PALETTE[j % PALETTE.length];
      pen.beginPath();
      for (let k = 0; k <= last; k++) pen.lineTo(x(t[k]), y(this.values[k * m + j]));
      pen.stroke();
    }
    pen.fillStyle = "#5b6470";
    pen.font = "10px system-ui, sans-serif";
    pen.textBaseline = "top";
    pen.fillText(this.ends[1], 2, 2);
    pen.textBaseline = "bottom";
    pen.fillText(this.ends[0], 2, h - 2);
    pen.lineWidth = 1;
    pen.strokeStyle = "#111";
    pen.beginPath();
    pen.moveTo(x(now), 0);
    pen.lineTo(x(now), h);
    pen.stroke();
    let k = 0;
    while (k < last && t[k + 1] <= now + 1e-9) k++;
    this.marks.forEach((mark, j) => { mark.textContent = short(this.values[k * m + j]); });
  }
}
