// What every page has beside its HTML. Pages are whole without it.
export const root = document.documentElement;
export const number = n => n.toLocaleString("en-US");

// data returns what the server left for a script in <script type="application/json" id=…>.
export const data = id => {
  const found = document.getElementById(id);
  return found && JSON.parse(found.textContent);
};

// add appends an element; its text is text and never HTML.
export function add(parent, tag, text, attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const name in attributes) made.setAttribute(name, attributes[name]);
  parent.append(made);
  return made;
}

function turnTheme() {
  const dark = (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  root.dataset.theme = dark ? "light" : "dark";
  // A cookie and not the browser's storage: the server then sends the page in its colours, without a flash.
  document.cookie = `edgeguard-theme=${root.dataset.theme};path=/;max-age=31536000;samesite=strict`;
  dispatchEvent(new Event("theme"));
}

const header = document.querySelector("header");
add(header, "button", "◐", { type: "button", class: "icon", "aria-label": "Light or dark", title: "Light or dark (t)" }).onclick = turnTheme;
