// Which worker ran which case when; a dashed line is the end of a process that was not told to end.

const canvas = document.querySelector(".timeline canvas");
const hint = document.querySelector("#timeline .hint");
const LANE = 26;
const LEFT = 84;
const AXIS = 22;
let boxes = [];

const ran = rows.filter((row) => row.worker !== null && row.start !== null);

const span = () => {
  let from = Infinity;
  let to = -Infinity;
  for (const row of ran) {
    from = Math.min(from, row.start);
    to = Math.max(to, row.start + row.duration);
  }
  for (const worker of facts.workers) if (worker.lost && worker.ended_at) to = Math.max(to, worker.ended_at);
  return [from, Math.max(to, from + 0.001)];
};

// Cases of one worker overlap; each gets the first track of its lane that is free.
const tracksOf = (lane) => {
  const ends = [];
  for (const row of lane) {
    let track = ends.findIndex((end) => end <= row.start + 1e-4);
    if (track < 0) track = ends.length < 24 ? ends.push(0) - 1 : 0;
    ends[track] = row.start + row.duration;
    row.track = track;
  }
  return Math.max(ends.length, 1);
};

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

const lanes = () => {
  const byWorker = new Map();
  for (const row of ran) {
    if (!byWorker.has(row.worker)) byWorker.set(row.worker, []);
    byWorker.get(row.worker).push(row);
  }
  return [...byWorker.entries()]
    .sort((a, b) => a[0] - b[0])
    .map(([worker, cases]) => ({ worker, cases: cases.sort((a, b) => a.start - b.start) }));
};

const drawAxis = (g, from, to, x, bottom) => {
  const count = Math.max(2, Math.min(8, Math.floor((x(to) - x(from)) / 90)));
  for (let tick = 0; tick <= count; tick++) {
    const at = from + ((to - from) * tick) / count;
    g.fillStyle = color("line");
    g.fillRect(x(at), 0, 1, bottom);
    g.fillStyle = color("dim");
    g.textAlign = tick === count ? "right" : tick ? "center" : "left";
    g.fillText(seconds(at - from), x(at), bottom + 15);
  }
};

const drawLosses = (g, worker, x, top, height) => {
  for (const process of facts.workers) {
    if (process.id !== worker || !process.lost || !process.ended_at) continue;
    g.strokeStyle = color("crashed");
    g.setLineDash([4, 3]);
    g.lineWidth = 2;
    g.beginPath();
    g.moveTo(x(process.ended_at), top);
    g.lineTo(x(process.ended_at), top + height);
    g.stroke();
    g.setLineDash([]);
  }
};

const drawTimeline = () => {
  if (!ran.length || canvas.parentNode.clientWidth === 0) {
    hint.textContent = ran.length ? "" : "No case ran.";
    return;
  }
  const [from, to] = span();
  const all = lanes();
  for (const lane of all) lane.tracks = tracksOf(lane.cases);
  const heights = all.map((lane) => Math.max(LANE, lane.tracks * 7 + 6));
  const width = canvas.parentNode.clientWidth - 16;
  const bottom = heights.reduce((sum, height) => sum + height, 0);
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = (bottom + AXIS) * ratio;
  canvas.style.width = width + "px";
  canvas.style.height = bottom + AXIS + "px";
  const g = canvas.getContext("2d");
  g.scale(ratio, ratio);
  g.font = "12px system-ui, sans-serif";
  const x = (at) => LEFT + ((at - from) / (to - from)) * (width - LEFT - 8);
  drawAxis(g, from, to, x, bottom);
  const paints = Object.fromEntries(tables.statuses.map((status) => [status, color(status)]));
  boxes = [];
  let top = 0;
  all.forEach((lane, n) => {
    g.fillStyle = color("text");
    g.textAlign = "left";
    g.fillText("worker " + lane.worker, 4, top + Math.min(heights[n] / 2 + 4, 18));
    const thick = (heights[n] - 6) / lane.tracks;
    for (const row of lane.cases) {
      const box = [x(row.start), top + 3 + row.track * thick, Math.max(1, x(row.start + row.duration) - x(row.start) - 0.5), Math.max(1, thick - 1), row];
      g.fillStyle = paints[row.status];
      g.fillRect(box[0], box[1], box[2], box[3]);
      boxes.push(box);
    }
    drawLosses(g, lane.worker, x, top, heights[n]);
    top += heights[n];
  });
};

const boxAt = (event) => {
  const area = canvas.getBoundingClientRect();
  const px = event.clientX - area.left;
  const py = event.clientY - area.top;
  return boxes.findLast((b) => px >= b[0] - 1 && px <= b[0] + b[2] + 1 && py >= b[1] && py <= b[1] + b[3]);
};

canvas.addEventListener("mousemove", (event) => {
  const box = boxAt(event);
  canvas.style.cursor = box ? "pointer" : "";
  hint.textContent = box ? visible(titleOf(box[4]) + ": " + box[4].status + ", " + seconds(box[4].duration)) : "";
});
canvas.addEventListener("click", (event) => {
  const box = boxAt(event);
  if (!box) return;
  cursor = shown.indexOf(box[4]);
  openCase(box[4]);
});
