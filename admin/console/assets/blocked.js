// Rows that move, and how many blocks are newer than the page.
import { add, data, find, live, meter, number, set, show } from "./console.js";

const rows = [...document.querySelectorAll("table.blocks tbody tr")].slice(0, 100);
const known = new Set(rows.map(r => r.dataset.prefix + r.dataset.since));

// span writes seconds such as "6 min 49 s".
function span(s) {
  const units = [[Infinity], [86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].map(([size, name], i, all) => i && [Math.floor(s % all[i - 1][0] / size), name]);
  const from = units.findIndex((unit, i) => unit[0] > 0 || i === 4);
  return units.slice(from, from + 2).filter(([n], i) => n || !i).map(unit => unit.join(" ")).join(" ");
}

function draw(svg, slots) {
  const most = Math.max(...slots), step = 120 / slots.length, w = step * 0.8;
  set(find("path", svg), { d: slots.map((n, i) => n && `M${i * step} 22v${-Math.max(1, n / most * 22)}h${w}V22z`).filter(Boolean).join("") });
}

function update(row, f, now) {
  const until = find(".end time", row);
  if (f?.until) until.dateTime = f.until;
  const left = Math.floor((Date.parse(until.dateTime) - now) / 1000), over = left <= 0 || f && !f.until;
  row.classList.toggle("ended", over);
  show(until, over ? left <= 0 ? "ended" : "unblocked" : span(left));
  show(find(".end .sub", row), "made " + span(Math.max(0, Math.floor((now - Date.parse(row.dataset.since)) / 1000))) + " ago");
  if (!f || over) return;
  if (f.refused !== undefined) show(find(".refused", row), number(f.refused));
  if (!f.rule) return;
  meter(find(".meter", row), f.count, f.limit, f.unit?.each);
  const spark = find(".spark", row);
  if (spark && f.slots.length > 1) draw(spark, f.slots);
}

const asks = data("asks");
let busy, again;
async function newer() {
  if (!asks) return;
  again = busy;
  if (busy) return;
  busy = true;
  const answer = await fetch(asks).catch(() => null);
  if (answer?.ok) found(await answer.json());
  setTimeout(() => { busy = false; if (again) newer(); }, find("#newer button") ? 10000 : 200); // a screen reader says it
}

function found(page) {
  const at = page.blocks.findIndex(b => known.has(b.prefix + b.since.slice(0, 19) + "Z"));
  const n = at < 0 ? page.blocks.length : at;
  for (const total of [find("nav.main .n"), find("h1 .total")]) show(total, number(page.total));
  const place = find("#newer"), pill = find("button", place);
  if (!n) pill?.remove();
  else if (pill) show(pill, `${n} newer`);
  else add(place, "button", `${n} newer`, { type: "button" }).onclick = () => location.reload();
}

const heads = find("th.tick");
if (heads) {
  const box = add(heads, "input", "", { type: "checkbox", "aria-label": "Tick all on this page" });
  box.onchange = () => { for (const one of document.querySelectorAll("td.tick input")) one.checked = box.checked; };
}

// A small screen has no sparklines.
const slots = matchMedia("(min-width: 73.8em)").matches ? 60 : 1;
live(`slots=${slots}` + rows.map(r => "&prefix=" + encodeURIComponent(r.dataset.prefix)).join(""), (all, now) => rows.forEach((row, i) => update(row, all[i], now)), newer);
