// Beside the HTML of every page, which is whole without it.
export const root = document.documentElement;
export const number = n => n.toLocaleString("en-US");
export const find = (what, within = document) => within.querySelector(what);

// data returns what the server left for a script.
export const data = id => JSON.parse(document.getElementById(id)?.textContent ?? "null");

export function set(element, attributes) {
  for (const name in attributes) element.setAttribute(name, attributes[name]);
}

// add appends an element; its text is never HTML.
export function add(parent, tag, text, attributes) {
  const made = document.createElement(tag);
  made.textContent = text;
  set(made, attributes);
  parent.append(made);
  return made;
}

export const show = (element, text) => { if (element && element.textContent !== text) element.textContent = text; };

const chosen = (name, byDefault) => (localStorage.getItem("edgeguard-" + name) ?? byDefault) === "on";

// The server writes times in UTC.
const local = chosen("local", "off");
export const zone = local ? new Date().toLocaleTimeString("en", { timeZoneName: "short" }).split(" ").pop() : "UTC";
export const clock = ms => local ? new Date(ms).toLocaleTimeString("en-GB") : new Date(ms).toISOString().slice(11, 19);

if (local) {
  const today = find(".state time").dateTime.slice(0, 10), all = document.createTreeWalker(find("main"), NodeFilter.SHOW_TEXT);
  while (all.nextNode()) { // what people wrote stays: it is quoted, or in a bdi
    const text = all.currentNode;
    if (text.parentElement.closest("script, pre, bdi:not(.sentence bdi)")) continue;
    text.data = text.data.replace(/“[^”]*”|(\d+ [A-Z].. \d{4} )?\b(\d\d:\d\d:\d\d)\b/g, (whole, day, time) => {
      if (!time) return whole;
      const at = new Date(day ? day + time + " UTC" : today + "T" + time + "Z");
      return (day ? at.toLocaleDateString("en-GB", { dateStyle: "medium" }) + " " : "") + clock(at);
    }).replace(/\bUTC\b/, zone);
  }
}

export function meter(svg, count, limit) {
  if (!svg) return;
  svg.classList.toggle("over", count > limit);
  find(".fill", svg).setAttribute("width", Math.min(96, Math.floor(count * 48 / limit)));
  const shown = svg.nextElementSibling, times = Math.floor(count / limit);
  show(shown, number(count));
  show(shown.nextElementSibling, `/ ${number(limit)}` + (times > 1 ? ` · ×${times}` : ""));
}

// live calls figures(all, ms) with each message and changed() when blocks changed, while the page is seen: a browser opens
// six connections to a host. Where events were lost, the page is loaded again.
export function live(query, figures, changed) {
  const line = find(".asof");
  let source, retry, id = "", heard = Date.now(), asOf = Date.parse(find("time", line).dateTime);
  const state = (before, after = "") => { show(line, before + clock(asOf) + " " + zone + after); line.classList.toggle("live", !after); };
  const take = m => { heard = Date.now(); asOf = Date.parse(m.time); figures(m.figures, asOf); };
  const poll = async () => { // the stream was refused
    const answer = await fetch("/api/v1/watch?once=true&" + query).catch(() => null);
    if (answer?.status === 401) location.reload();
    if (!answer?.ok) return;
    take(await answer.json());
    changed();
    state("Too many pages are live; this one every 10 s, ");
  };
  const open = () => {
    source?.close();
    clearTimeout(retry);
    source = new EventSource(`/api/v1/watch?kind=block,unblock,held&after=${id}&${query}`);
    source.addEventListener("figures", e => { take(JSON.parse(e.data)); state("Live, "); });
    for (const kind of ["block", "unblock", "held"]) source.addEventListener(kind, e => { id = e.lastEventId; changed(); });
    source.addEventListener("gap", () => location.reload());
    source.onopen = () => changed();
    source.onerror = () => { if (source.readyState === 2) { poll(); retry = setTimeout(open, 10000); } };
  };
  const seen = () => {
    source?.close();
    clearTimeout(retry);
    if (document.hidden) return;
    heard = Date.now();
    open();
  };
  document.addEventListener("visibilitychange", seen);
  seen();
  setInterval(() => {
    const silent = Math.floor((Date.now() - heard) / 1000);
    if (document.hidden) return;
    document.body.classList.toggle("stale", silent >= 20);
    for (const b of document.querySelectorAll("main button")) b.disabled = silent >= 30;
    if (silent < 20) return;
    state("Stopped at ", ", trying again");
    if (silent % 20 === 0) open();
  }, 1000);
}

function turnTheme() {
  const dark = (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  root.dataset.theme = dark ? "light" : "dark";
  // By a cookie, so that the next page comes in these colours.
  document.cookie = `edgeguard-theme=${root.dataset.theme};path=/;max-age=31536000;samesite=strict`;
  dispatchEvent(new Event("theme"));
}
add(find("header"), "button", "◐", { type: "button", class: "icon", "aria-label": "Light or dark", title: "Light or dark (t)" }).onclick = turnTheme;

// The page About lists the keys, and has the choices.
function row(step) {
  const all = [...document.querySelectorAll("main td.who a, main td a.who")], at = all.indexOf(document.activeElement);
  all[at < 0 ? 0 : at + step]?.focus();
}
const keys = {
  "/": () => find(".find input").focus(),
  "j": () => row(1),
  "k": () => row(-1),
  "u": () => find('a[href^="/unblock"]', document.activeElement.closest("tr") ?? find("main"))?.click(),
  ".": () => find("#newer button")?.click(),
  "t": turnTheme,
};
const places = { "?": "/about#keys", gb: "/blocked", gn: "/near", gr: "/rules", gf: "/fleet", ga: "/activity" };
let first = "";
addEventListener("keydown", e => {
  const pressed = first + e.key;
  first = "";
  if (!chosen("keys", "on") || e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, select, textarea")) return;
  if (places[pressed]) location.href = places[pressed];
  else if (Object.hasOwn(keys, pressed)) { e.preventDefault(); keys[pressed](); }
  else if (e.key === "g") first = "g";
});
for (const box of document.querySelectorAll("#choices input")) {
  box.checked = chosen(box.name, box.value);
  box.onchange = () => { localStorage.setItem("edgeguard-" + box.name, box.checked ? "on" : "off"); location.reload(); };
  find("#choices").hidden = false;
}
