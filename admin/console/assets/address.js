// The chart of an address: slots as bars, and adding up as a line against the limits.
import { clock, data, find, live, meter, number, set, show } from "./console.js";
import { axis, css, keep } from "./chart.js";

const d = data("address"), rows = [...document.querySelectorAll("details tbody tr")], svg = find("svg.chart");
const refused = [...document.querySelectorAll(".sentence b")].find(b => b.textContent === d.refused);
const host = document.createElement("div"), tip = document.createElement("output"), last = d.slots.length - 1, width = d.window / d.slots.length;
let slots, sums, began, plot, blocked;

function take(newest, lastBegan) {
  let sum = 0;
  slots = newest.map(n => n / d.each);
  sums = newest.map(n => (sum += n) / d.each);
  began = Date.parse(lastBegan);
}
const time = i => clock(began - (last - i) * width * 1000);
const most = () => Math.max(1, ...slots);

let at = null;
function point(i) {
  at = i;
  const n = i ?? last, text = `${time(n)} · ${number(slots[n])} in ${width} s · ${number(sums[n])} so far`;
  tip.textContent = text;
  set(host, { "aria-valuenow": n, "aria-valuetext": text });
}

function make(w) {
  const small = w < 520, marks = small ? 3 : 6, every = Array.from({ length: marks + 1 }, (_, i) => Math.round(i * last / marks));
  plot = new uPlot({
    width: w, height: small ? 250 : 320, padding: [10, 6, 0, 0], legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
    scales: {
      x: { time: false, range: [-0.5, last + 0.5] }, slot: { range: () => [0, most() * 3.2] },
      y: { range: () => [0, 1.12 * Math.max(1, sums[last], ...[d.threshold, ...d.candidates].map(n => n / d.each))] },
    },
    axes: [
      axis({ size: 28, grid: { show: false }, splits: () => every, values: (_, all) => all.map(time) }),
      axis({ scale: "y", size: 52 }),
      axis({ scale: "slot", side: 1, size: 40, grid: { show: false }, splits: () => [...new Set([0, Math.ceil(most() / 2), most()])] }),
    ],
    series: [{},
      { scale: "slot", paths: uPlot.paths.bars({ size: [0.72, 20] }), fill: () => css("bar"), width: 0, points: { show: false } },
      { scale: "y", stroke: () => css("accent"), width: 2, paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } }],
    hooks: { draw: [levels], setCursor: [u => point(u.cursor.idx ?? null)] },
  }, [slots.map((_, i) => i), slots, sums], host);
  return plot;
}

function levels(u) {
  const c = u.ctx, dot = devicePixelRatio, { left, top, width, height } = u.bbox, taken = [], over = sums.findIndex(n => n > d.limit / d.each), note = d.each > 1 ? `, each counts ${number(d.each)}` : "";
  const level = (name, label, value, colour, thick, dash, below) => {
    const y = u.valToPos(value / d.each, "y", true);
    c.fillStyle = c.strokeStyle = colour;
    c.lineWidth = thick * dot;
    c.setLineDash(dash.map(n => n * dot));
    c.beginPath(); c.moveTo(left, y); c.lineTo(left + width, y); c.stroke();
    // A label has a rim of the ground's colour, is not below the axis, and is left out where another one is.
    const at = y + (y + below * dot > top + height - 4 * dot ? -5 : below) * dot, text = `${name} ${label}`;
    if (taken.some(other => Math.abs(other - at) < 14 * dot)) return;
    taken.push(at);
    c.setLineDash([]);
    c.lineWidth = 4 * dot;
    c.strokeStyle = css("ground");
    c.strokeText(text, left + 8 * dot, at);
    c.fillText(text, left + 8 * dot, at);
  };
  c.save();
  c.font = `${12 * dot}px system-ui, sans-serif`;
  c.textAlign = "left";
  c.lineJoin = "round";
  level("limit", number(d.limit / d.each), d.limit, css("over"), 2, [], 15);
  if (d.threshold !== d.limit) level("threshold", number(d.threshold) + note, d.threshold, css("over"), 1, [5, 4], -5);
  for (const value of d.candidates) level("candidate", number(value) + note, value, css("cand"), 1.5, [1.5, 4], -5);
  c.setLineDash([]);
  c.lineWidth = 2 * dot;
  if (over >= 0) {
    c.strokeStyle = css("over");
    c.fillStyle = css("ground");
    c.beginPath(); c.arc(u.valToPos(over, "x", true), u.valToPos(sums[over], "y", true), 5 * dot, 0, 7); c.fill(); c.stroke();
  }
  c.restore();
}

function update([f]) {
  if (!f || blocked !== undefined && blocked !== Boolean(f.until) || !refused && d.blocked && f.refused) return location.reload();
  blocked = Boolean(f.until);
  if (refused && f.refused) show(refused, `${number(f.refused)} ${f.refused === 1 ? "event" : "events"} of it`);
  if (f.rule !== d.rule || f.slots?.length !== last + 1) return;
  take(f.slots, f.slot_began);
  plot?.setData([slots.map((_, i) => i), slots, sums]);
  rows.forEach((row, i) => [time(i), number(slots[i]), number(sums[i])].forEach((value, n) => show(row.cells[n], value)));
  meter(find(".meter", find(".pairs .tag.on").closest("div")), f.count, f.limit, d.each);
  point(at);
}

take(d.slots, d.began);
set(host, { class: "plotted", tabindex: 0, role: "slider", "aria-label": "Slot", "aria-valuemin": 0, "aria-valuemax": last });
tip.className = "mono muted";
host.onkeydown = e => {
  const to = { ArrowLeft: (at ?? last) - 1, ArrowRight: (at ?? last) + 1, Home: 0, End: last }[e.key];
  if (to === undefined) return;
  e.preventDefault();
  plot.setCursor({ left: plot.valToPos(Math.min(last, Math.max(0, to)), "x"), top: 0 });
};
svg.replaceWith(host, tip);
point(null);
keep(host, make);
live(`slots=${last + 1}&rule=${encodeURIComponent(d.rule)}&prefix=${d.address}`, update, () => {});
