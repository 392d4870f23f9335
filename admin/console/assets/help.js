// What a browser keeps: whether keys are on, and the zone of times.
import { all, chosen, find } from "./console.js";

for (const box of all("#choices input")) {
  box.checked = chosen(box.name, box.value);
  box.onchange = () => { localStorage.setItem("edgeguard-" + box.name, box.checked ? "on" : "off"); location.reload(); };
  find("#choices").hidden = false;
}
