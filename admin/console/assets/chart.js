// What charts share. uPlot is a classic script that a page names before its module.
import { root, number } from "./console.js";

export const css = name => getComputedStyle(root).getPropertyValue("--" + name).trim();
export const axis = more => ({
  stroke: () => css("muted"), font: "12px system-ui, sans-serif", ticks: { show: false }, grid: { stroke: () => css("line"), width: 1 },
  values: (_, all) => all.map(number), ...more,
});

// keep has make(width) draw a plot into the host, again where the host's width or the colours change.
export function keep(host, make) {
  let width = 0, plot;
  const draw = () => { plot?.destroy(); plot = make(width); };
  const fit = () => { if (host.clientWidth !== width) { width = host.clientWidth; draw(); } };
  new ResizeObserver(() => requestAnimationFrame(fit)).observe(host);
  addEventListener("theme", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
