// Beside the HTML of every page, which is whole without it.
export const root = document.documentElement;
export const number = n => (Math.round(n * 10) / 10).toLocaleString("en-US");
export const find = (what, within = document) => within.querySelector(what);
export const all = what => document.querySelectorAll(what);

// data returns what the server left for a script.
export const data = (id, page = document) => JSON.parse(page.getElementById(id)?.textContent ?? "null");

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

export const chosen = (name, byDefault) => (localStorage.getItem("edgeguard-" + name) ?? byDefault) === "on";

// The server writes times in UTC.
const local = chosen("local", "off");
export const zone = local ? new Date().toLocaleTimeString("en", { timeZoneName: "short" }).split(" ").pop() : "UTC";
export const clock = ms => local ? new Date(ms).toLocaleTimeString("en-GB") : new Date(ms).toISOString().slice(11, 19);

// inZone turns the times of a page into those of the zone.
function inZone(page) {
  const today = find(".state time", page).dateTime.slice(0, 10), texts = document.createTreeWalker(find("main", page), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) { // what people wrote stays: it is quoted, or in a bdi
    const text = texts.currentNode;
    if (text.parentElement.closest("script, pre, bdi:not(.sentence bdi)")) continue;
    text.data = text.data.replace(/“[^”]*”|(\d+ [A-Z].. \d{4} )?\b(\d\d:\d\d:\d\d)\b/g, (whole, day, time) => {
      if (!time) return whole;
      const at = new Date(day ? day + time + " UTC" : today + "T" + time + "Z");
      return (day ? at.toLocaleDateString("en-GB", { dateStyle: "medium" }) + " " : "") + clock(at);
    }).replace(/\bUTC\b/, zone);
  }
}
if (local) inZone(document);

// become turns an element into another one. What is the same stays, and with it the focus; so does what a script added.
function become(is, other) {
  if (is.isEqualNode(other)) return;
  if (is.nodeName !== other.nodeName) return is.replaceWith(document.importNode(other, true));
  if (is.nodeType !== 1) return is.data = other.data;
  for (const { name } of [...is.attributes]) if (name !== "open" && !other.hasAttribute(name)) is.removeAttribute(name);
  for (const { name, value } of other.attributes) if (is.getAttribute(name) !== value) is.setAttribute(name, value);
  const parts = [...is.childNodes].filter(part => !part.classList?.contains("own"));
  [...other.childNodes].forEach((part, i) => parts[i] ? become(parts[i], part) : is.append(document.importNode(part, true)));
  parts.slice(other.childNodes.length).forEach(part => part.remove());
}

// renewing returns a function that has a part of the page become what it is now, one at a time and where may(page) allows it.
export function renewing(part, may = () => true, then = () => {}) {
  let busy, again;
  return function renew() {
    again = busy;
    if (busy) return;
    busy = true;
    const ask = new XMLHttpRequest(); // it reads HTML without a policy for trusted types, and runs nothing of it
    ask.open("GET", location.href);
    ask.responseType = "document";
    ask.onloadend = () => {
      const page = ask.status === 200 ? ask.response : null, line = page && find(".asof", page);
      if (ask.status === 401 || page && (!line || page.scripts[0].src !== document.scripts[0].src)) return location.reload(); // the login's, or another version's
      busy = false;
      if (page && may(page)) {
        if (local) inZone(page);
        line.replaceWith(document.importNode(find(".asof"), true)); // live has its own
        become(find(part), find(part, page));
        then();
      }
      if (again) renew();
    };
    ask.send();
  };
}

export function meter(svg, count, limit, each = 1) {
  if (!svg) return;
  svg.classList.toggle("over", count > limit);
  find(".fill", svg).setAttribute("width", Math.min(96, Math.floor(count * 48 / limit)));
  const shown = svg.nextElementSibling, times = Math.floor(count / limit);
  show(shown, number(count / each));
  show(shown.nextElementSibling, `/ ${number(limit / each)}` + (times > 1 ? ` · ×${times}` : ""));
}

// live calls figures(all, ms) with each message and changed() when blocks changed, while the page is seen: a browser opens
// six connections to a host.
export function live(query, figures, changed) {
  const line = find(".asof"), condition = renewing(".condition"), kinds = ["block", "unblock", "held", "alarm", "recovered", "state"];
  let source, retry, broken, id = "", heard = Date.now(), asOf = Date.parse(find("time", line).dateTime);
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
    source = new EventSource(`/api/v1/watch?kind=${kinds}&after=${id}&${query}`);
    source.addEventListener("figures", e => { take(JSON.parse(e.data)); state("Live, "); if (find(".dot.warn")) condition(); }); // an alarm's end is no event
    for (const kind of kinds) source.addEventListener(kind, e => { id = e.lastEventId; changed(); if (!/block/.test(kind)) condition(); });
    source.addEventListener("gap", () => location.reload());
    source.onopen = () => { changed(); if (broken) condition(); };
    source.onerror = () => { broken = true; if (source.readyState === 2) { poll(); retry = setTimeout(open, 10000); } };
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
    for (const b of all("main button")) b.disabled = silent >= 30;
    if (silent < 20) return;
    state("Stopped at ", ", trying again");
    if (silent % 20 === 0) open();
  }, 1000);
}

function turnTheme() {
  const dark = (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  root.dataset.theme = dark ? "light" : "dark";
  document.cookie = `edgeguard-theme=${root.dataset.theme};path=/;max-age=31536000;samesite=strict`;
  dispatchEvent(new Event("theme"));
}
add(find("header"), "button", "◐", { type: "button", class: "icon", "aria-label": "Light or dark", title: "Light or dark (t)" }).onclick = turnTheme;

function row(step) {
  const rows = [...all("main td.who a, main td a.who")], at = rows.indexOf(document.activeElement);
  rows[at < 0 ? 0 : at + step]?.focus();
}
const keys = {
  "/": () => find(".find input").focus(),
  "j": () => row(1),
  "k": () => row(-1),
  "u": () => find('a[href^="/unblock"]', document.activeElement.closest("tr") ?? find("main"))?.click(),
  ".": () => find("#newer button")?.click(),
  "t": turnTheme,
};
const places = { "?": "/help", gn: "/", gb: "/blocked", gr: "/rules", ga: "/allowed", gh: "/health" };
let first = "";
addEventListener("keydown", e => {
  const pressed = first + e.key;
  first = "";
  if (!chosen("keys", "on") || e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, select, textarea")) return;
  if (places[pressed]) location.href = places[pressed];
  else if (Object.hasOwn(keys, pressed)) { e.preventDefault(); keys[pressed](); }
  else if (e.key === "g") first = "g";
});
