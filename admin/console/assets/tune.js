// The line to drag: the page follows the threshold that it tries.
import { all, data, find, live, number, renewing, set, show } from "./console.js";

let d = data("tune"), threshold = d.tried.threshold, moved = d.trying, held;
const clamp = (least, most, n) => Math.min(most, Math.max(least, n));
const part = (from, to, log) => clamp(0, 1, (log - from) / (to - from));
const millionths = () => Math.round(d.guard * 1e6);

// outcome is the API's, as far as this page knows: exact where all keys over the limit are among the highest.
function outcome(t) {
  const limit = Math.ceil(t * millionths() / 1e6), complete = d.highest.length >= d.keys || d.highest.at(-1) <= limit;
  let keys = 0, over = 0;
  if (complete) for (const count of d.highest) { if (count > limit) { keys++; over += count - limit; } }
  else for (const [low, high, n, sum] of d.buckets) {
    if (high <= limit) continue;
    const above = high - Math.max(limit, low - 1), share = above / (high - low + 1);
    keys += Math.round(share * n);
    over += share < 1 ? share * n * (above + 1) / 2 : sum - limit * n;
  }
  return { threshold: t, limit, keys, request_share: d.requests ? over / d.requests : 0, exact: complete || limit < 64 };
}

const percent = share => share === 0 ? "0 %" : share < .0001 ? "< 0.01 %" : (100 * share).toFixed(share < .01 ? 2 : 1) + " %";

// The line is drawn over the curve.
find("#curve").append(document.importNode(find("#slide").content, true));
const slide = find(".slide"), slider = find("g", slide), [line, dot, says, count] = ["line", "circle", ".tried", ".count"].map(what => find(what, slide));

function put(o) {
  const limit = number(o.limit / d.each), x = part(d.begin, d.right, Math.log10(o.limit + .5)), at = 100 * x + "%", anchor = x < .25 ? "start" : x > .75 ? "end" : "middle";
  set(line, { x1: at, x2: at });
  for (const piece of slider.children) piece.setAttribute("x", at);
  const y = 100 - 100 * part(d.begin, d.top, Math.log10(Math.max(o.keys, .7))) + "%", left = anchor === "end";
  set(dot, { cx: at, cy: y });
  set(says, { x: at, "text-anchor": anchor });
  set(count, { x: at, y, dx: left ? -9 : 9, "text-anchor": left ? "end" : "start" });
  show(says, moved ? `try ${number(o.threshold)} · limit ${limit}` : "");
  show(count, `${number(o.keys)} over`);
  for (const bar of all("#curve .bar")) bar.classList.toggle("over", parseFloat(bar.getAttribute("x")) > 100 * x - .01);
  const share = percent(o.request_share), about = o.exact ? "" : "about ", fresh = o.new_keys ?? null;
  set(slider, { "aria-valuenow": o.threshold, "aria-valuetext": `threshold ${number(o.threshold)}, limit ${limit}: ${about}${number(o.keys)} ${o.keys === 1 ? d.one : d.many} over, ${share} of ${d.events} refused` });
  show(find("#limit"), limit);
  show(find("#keys"), number(o.keys));
  show(find("#share"), share);
  show(find("#fresh"), fresh === null ? "" : `${number(fresh)} of them not blocked now`);
  for (const mark of all(".about")) mark.hidden = o.exact;
  const field = find(".try input");
  if (field !== document.activeElement) field.value = o.threshold;
}

// move tries a threshold. What is of another one cannot be used meanwhile.
function move(t) {
  t = clamp(1, d.most, t);
  if (t === threshold && moved) return;
  threshold = t;
  moved = true;
  show(find("#which"), "tried");
  for (const other of all(".follows")) other.inert = true;
  const o = outcome(t);
  put(o);
  later(o.exact ? Date.now() + 150 : asked + 100);
}

let asked = 0, timer, asking, wait = 0;
function later(at) {
  clearTimeout(timer);
  timer = setTimeout(ask, Math.max(at, asked + wait) - Date.now());
}

// ask has the node's own figures shown, and where the line rests all of the page. The last answer wins.
async function ask() {
  asking?.abort();
  asking = new AbortController();
  asked = Date.now();
  const { signal } = asking, answer = await fetch(d.api + threshold, { signal }).catch(() => null);
  if (signal.aborted) return;
  const o = answer?.ok ? await answer.json().catch(() => null) : null;
  if (signal.aborted) return;
  wait = o ? 0 : 2000; // the node is busy, or away
  if (!o) return later(asked);
  put(o);
  if (held) return;
  history.replaceState(null, "", "?threshold=" + threshold);
  renew();
}

const renew = renewing("main", page => find("#tune", page) ? !held && threshold === data("tune", page).tried.threshold : location.reload(), () => {
  d = data("tune");
  put(d.tried);
});

// Steps are round, about a sixty-fourth.
function stepOf(t) {
  const fine = Math.max(1, t / 64), ten = 10 ** Math.floor(Math.log10(fine));
  return fine < 2 * ten ? ten : fine < 5 * ten ? 2 * ten : 5 * ten;
}
function stepped(t, steps) {
  for (; steps > 0 && t < d.most; steps--) t += stepOf(t) - t % stepOf(t);
  for (; steps < 0 && t > 1; steps++) t -= t % stepOf(t - 1) || stepOf(t - 1);
  return t;
}

const keys = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10, Home: -1e4, End: 1e4 };
slider.onkeydown = e => {
  const steps = keys[e.key];
  if (!steps || e.ctrlKey || e.metaKey || e.altKey) return;
  e.preventDefault();
  move(e.shiftKey ? threshold + Math.sign(steps) : stepped(threshold, steps));
};

function follow(e) {
  const box = slide.getBoundingClientRect(), x = part(box.left, box.right, e.clientX);
  const wanted = (10 ** (d.begin + x * (d.right - d.begin)) - .5) * 1e6 / millionths(), step = stepOf(Math.max(1, wanted));
  move(Math.round(wanted / step) * step);
}
// A finger beside the handle may be about to scroll the page.
slide.onpointerdown = e => {
  if (e.button || e.pointerType !== "mouse" && !slider.contains(e.target)) return;
  e.preventDefault();
  slider.focus({ preventScroll: true });
  slide.setPointerCapture(e.pointerId);
  held = true;
  if (!slider.contains(e.target)) follow(e);
};
slide.onpointermove = e => { if (held) follow(e); };
slide.onlostpointercapture = () => {
  held = false;
  if (moved) later(0);
};
slide.onclick = e => { if (e.pointerType !== "mouse" && !slider.contains(e.target)) follow(e); };

// What is typed or suggested moves the line.
const main = find("main");
main.addEventListener("submit", e => {
  const field = find("input", e.target), typed = Number(field.value.replaceAll(",", ""));
  if (!e.target.matches(".try") || !Number.isInteger(typed) || typed < 1 || typed > d.most) return; // the page of it says what is wrong
  e.preventDefault();
  field.value = typed;
  move(typed);
});
main.addEventListener("click", e => {
  if (e.target.id !== "suggested" || e.ctrlKey || e.metaKey || e.shiftKey) return;
  e.preventDefault();
  move(Number(e.target.dataset.threshold));
  slider.focus();
});

put(d.tried);
live("", renew, () => {});
