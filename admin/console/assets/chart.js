// What charts share. uPlot is a classic script that a page names before its module.
import { root, number } from "./console.js";

export const css = name => getComputedStyle(root).getPropertyValue("--" + name).trim();
export const axis = more => ({
  stroke: () => css("muted"), font: "12px system-ui, sans-serif", ticks: { show: false }, grid: { stroke: () => css("line"), width: 1 },
  values: (_, all) => all.map(number), ...more,
});

// line draws a horizontal (y) or vertical (x) line through a plot's value.
export function line(u, scale, value, colour, width = 1, dash = []) {
  const c = u.ctx, at = u.valToPos(value, scale, true), { left, top, width: w, height: h } = u.bbox, dot = devicePixelRatio;
  c.save();
  c.strokeStyle = colour; c.lineWidth = width * dot; c.setLineDash(dash.map(d => d * dot));
  c.beginPath();
  if (scale === "x") { c.moveTo(at, top); c.lineTo(at, top + h); } else { c.moveTo(left, at); c.lineTo(left + w, at); }
  c.stroke(); c.restore();
}

// keep has make(width) draw a plot into the host, again where the host's width or the colours change.
// The result draws it again by call.
export function keep(host, make) {
  let width = 0, plot;
  const draw = () => { plot?.destroy(); plot = make(width); };
  new ResizeObserver(() => { if (host.clientWidth !== width) { width = host.clientWidth; draw(); } }).observe(host);
  addEventListener("theme", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  return draw;
}
