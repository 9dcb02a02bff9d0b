/** The reference page's only script: search, colors, and opening the operation that a link names. */
export const script = `
const root = document.documentElement;
const stored = { get: () => { try { return localStorage.getItem("postern-docs-colors"); } catch { return null; } },
  set: (value) => { try { localStorage.setItem("postern-docs-colors", value); } catch {} } };
const colors = document.getElementById("colors");
const modes = ["auto", "light", "dark"];
const showColors = (mode) => { root.dataset.colors = mode; colors.textContent = "Colors: " + mode; };
showColors(modes.includes(stored.get()) ? stored.get() : "auto");
colors.addEventListener("click", () => {
  const mode = modes[(modes.indexOf(root.dataset.colors) + 1) % modes.length];
  stored.set(mode);
  showColors(mode);
});
document.getElementById("tools").hidden = false;

const open = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target?.tagName !== "DETAILS") return;
  target.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", open);
open();

const field = document.getElementById("search");
const count = document.getElementById("count");
const entries = [...document.querySelectorAll("main [data-entry]")].map((element) => ({ element }));
const sections = [...document.querySelectorAll("main > section")];
const find = () => {
  const words = field.value.toLowerCase().split(/\\s+/).filter((word) => word !== "");
  let found = 0;
  for (const entry of entries) {
    entry.text ??= (entry.element.id + " " + entry.element.textContent).toLowerCase();
    entry.element.hidden = !words.every((word) => entry.text.includes(word));
    if (!entry.element.hidden) found += 1;
  }
  for (const section of sections) section.hidden = words.length > 0 && !section.querySelector("[data-entry]:not([hidden])");
  count.textContent = words.length === 0 ? "" : found === 1 ? "1 result" : found + " results";
};
let planned = 0;
field.addEventListener("input", () => { clearTimeout(planned); planned = setTimeout(find, 80); });
field.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { field.value = ""; find(); }
  if (event.key !== "Enter") return;
  find();
  const first = entries.find(({ element }) => !element.hidden)?.element;
  if (first?.tagName === "DETAILS") first.open = true;
  first?.scrollIntoView();
});
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target === field) return;
  event.preventDefault();
  field.focus();
});
`;
