// A button beside each command, where the browser lets a page copy.
import { add, all, show } from "./console.js";

for (const command of navigator.clipboard ? all("pre.command") : []) {
  const button = add(command.parentElement, "button", "Copy", { type: "button", class: "own copy" });
  const say = text => () => show(button, text);
  button.onclick = () => navigator.clipboard.writeText(command.textContent).then(say("Copied"), say("Not copied: select the text"));
}
