// What a person with good eyes would find wrong with how a page is laid out. It runs in a world of its own.
const shown = e => e.checkVisibility({ visibilityProperty: true }) && !e.closest(".vh, .skip, .cards thead");
const name = e => e.tagName.toLowerCase() + (e.id && "#" + e.id) + (typeof e.className === "string" && e.className ? "." + e.className.trim().replace(/\s+/g, ".") : "") + " “" + (e.textContent || "").trim().slice(0, 40) + "”";
const all = selector => [...document.querySelectorAll(selector)].filter(shown);

// The navigation may be moved sideways, and nothing else. Of names in the header the end may be missing: /about and
// /login have them whole.
const mayMove = e => e.closest("nav.main");
const clipped = e => e.closest("header .node *, header .me a *");

function cutOff() {
  const wide = document.documentElement.clientWidth, found = [];
  for (const e of all("body *")) {
    if (mayMove(e) || clipped(e) || e.closest("svg") && e.tagName !== "svg") continue;
    const box = e.getBoundingClientRect();
    if (box.width && (box.right > wide + 1 || box.left < -1)) found.push(`${name(e)} reaches from ${box.left.toFixed()} to ${box.right.toFixed()} of ${wide}`);
    if (!["INPUT", "SELECT", "OPTION", "HTML", "BODY"].includes(e.tagName) && getComputedStyle(e).overflowX !== "visible" && !e.closest("header") && e.scrollWidth > e.clientWidth + 1)
      found.push(`${name(e)} is ${e.clientWidth} wide and holds ${e.scrollWidth}`);
  }
  return found;
}

// texts are the boxes of each line of each text.
function texts() {
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walker.nextNode());) {
    const e = n.parentElement;
    if (!n.data.trim() || !shown(e) || mayMove(e) || clipped(e) || e.closest("option, script, noscript, canvas")) continue;
    const range = document.createRange();
    range.selectNodeContents(n);
    for (let box of e.closest("svg") ? [e.getBoundingClientRect()] : range.getClientRects()) {
      const spare = e.closest("svg") ? box.height / 6 : 0; // above and below the letters
      if (box.width > 1) found.push({ n, box: { left: box.left, right: box.right, top: box.top + spare, bottom: box.bottom - spare }, text: n.data.trim() });
    }
  }
  return found;
}

function overlaps() {
  const boxes = texts(), found = [];
  boxes.sort((a, b) => a.box.top - b.box.top);
  for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length && boxes[j].box.top < boxes[i].box.bottom - 3; j++) {
    const a = boxes[i].box, b = boxes[j].box;
    if (boxes[i].n !== boxes[j].n && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3)
      found.push(`“${boxes[i].text.slice(0, 40)}” and “${boxes[j].text.slice(0, 40)}” overlap`);
  }
  return found;
}

// order finds controls that follow another one in the order of the Tab key, and lie before it for the eye.
function order() {
  const found = [];
  let before = null;
  for (const e of all("a[href], button, input, select, textarea, summary, [tabindex]")) {
    if (e.tabIndex < 0 || e.disabled || e.type === "hidden") continue;
    if (e.tabIndex > 0) found.push(`${name(e)} has tabindex ${e.tabIndex}`);
    const box = e.getBoundingClientRect();
    if (before) {
      const above = box.bottom <= before.box.top + 2, row = !above && box.top < before.box.bottom - 2;
      if (above && box.left < before.box.right - 2 && !mayMove(before.e) || row && box.right <= before.box.left + 2 || above && mayMove(before.e))
        found.push(`${name(e)} comes after ${name(before.e)} and lies before it`);
    }
    before = { e, box };
  }
  return found;
}

// small finds controls that a thumb misses. Links within a text are as high as it.
const small = () => innerWidth > 500 ? [] : all("button, select, .button, input:not([type=hidden]):not([type=checkbox]):not([type=radio])").filter(e => e.getBoundingClientRect().height < 40).map(name);

// A page that is as wide as it must be has no bar to move it sideways.
const sideways = () => document.documentElement.scrollWidth > innerWidth ? [`the page is ${document.documentElement.scrollWidth} wide`] : [];

// colours returns the parts of charts that do not stand out from what they are drawn on.
function colours() {
  const light = c => { const [r, g, b] = c.match(/[\d.]+/g).slice(0, 3).map(v => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (c !== "transparent" && !/, 0\)$/.test(c)) return c; } return getComputedStyle(document.documentElement).colorScheme.includes("dark") ? "rgb(0,0,0)" : "rgb(255,255,255)"; };
  const found = [];
  for (const e of all(".chart line.limit, .chart line.threshold, .chart line.candidate, .chart .sum, .chart .line, .chart .bar, .spark path, .meter .fill, .meter .mark")) {
    const style = getComputedStyle(e), drawn = style.stroke !== "none" ? style.stroke : style.fill, under = ground(e.closest("svg").parentElement);
    const [a, b] = [light(drawn), light(under)].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
    if (ratio < 1.5) found.push(`${e.getAttribute("class") || e.parentElement.getAttribute("class") + " " + e.tagName}: ${drawn} on ${under} is ${ratio.toFixed(2)}:1`);
  }
  return [...new Set(found)];
}

// faint finds text that is too small to be read. A text of a drawing shrinks with it.
const faint = () => texts().filter(t => t.box.bottom - t.box.top < 8).map(t => `“${t.text.slice(0, 40)}” is ${(t.box.bottom - t.box.top).toFixed(1)} high`);

// broken finds addresses that go on in the next line, but behind a colon. An address may be several texts, with places
// to break it between them.
function broken() {
  const found = [], runs = [];
  for (const { n } of new Map(texts().map(t => [t.n, t])).values())
    if (n.previousSibling?.nodeName === "WBR" && runs.at(-1)?.at(-1) === n.previousSibling.previousSibling) runs.at(-1).push(n);
    else runs.push([n]);
  for (const run of runs) {
    const places = run.flatMap(n => [...n.data].map((_, i) => [n, i])), text = run.map(n => n.data).join("");
    for (const m of text.matchAll(/[0-9a-f]{0,4}(:[0-9a-f]{0,4}){3,7}(\/\d+)?|\d+(\.\d+){3}(\/\d+)?/g)) {
      let before = null;
      for (let i = m.index; i < m.index + m[0].length; i++) {
        const range = document.createRange();
        range.setStart(...places[i]);
        range.setEnd(places[i][0], places[i][1] + 1);
        const { top } = range.getBoundingClientRect();
        if (before !== null && Math.abs(top - before) > 3 && text[i - 1] !== ":") { found.push(`${m[0]} breaks before “${m[0].slice(i - m.index)}”`); break; }
        before = top;
      }
    }
  }
  return found;
}

const wrong = () => [...sideways(), ...cutOff(), ...broken(), ...overlaps(), ...order(), ...faint(), ...small(), ...colours()].slice(0, 12);
