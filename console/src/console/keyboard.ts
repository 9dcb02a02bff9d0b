/** Keyboard shortcuts: `/` and Ctrl K open the search, `g` and a letter open a view. */
import { signal } from "@preact/signals";
import { buildMenu } from "./views.ts";
import { goTo } from "./router.ts";

export const isSearching = signal(false);

const gapMs = 1_200;
let goes = 0;

export function handleKey(event: KeyboardEvent): void {
  const { target, key } = event;
  // Works in text fields, too. An open dialog keeps the focus.
  if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && key === "k") {
    event.preventDefault();
    if (!document.querySelector("dialog[open]")) isSearching.value = true;
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typed = "input:not([type=checkbox], [type=radio]), textarea, select, dialog";
  if (target instanceof HTMLElement && target.closest(typed)) return;
  if (key === "/") {
    event.preventDefault();
    isSearching.value = true;
    return;
  }
  if (key === "g") {
    goes = event.timeStamp;
    return;
  }
  const found =
    event.timeStamp - goes < gapMs
      ? buildMenu(undefined)
          .flatMap((part) => [part, ...part.items])
          .find((one) => one.key === key)
      : undefined;
  goes = 0;
  if (found) goTo(found.path);
}
