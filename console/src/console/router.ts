/** Current place in the page: the fragment of its address. */
import { signal } from "@preact/signals";

export interface PagePlace {
  readonly view: string;
  readonly rest: readonly string[];
  readonly query: URLSearchParams;
}

export const place = signal<PagePlace>(readPlace());

addEventListener("hashchange", () => (place.value = readPlace()));

function readPlace(): PagePlace {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view = "", ...rest] = path.split("/").map(decodeURIComponent);
  return {
    view: view === "" || /^(?:code|invite)=/.test(view) ? "overview" : view,
    rest,
    query: new URLSearchParams(query),
  };
}

export function goTo(path: string): void {
  location.hash = `#/${path}`;
}

/** Replaces the current view, such as a submitted form, in the browser's history. */
export function replacePlace(path: string): void {
  location.replace(`#/${path}`);
}

export function linkTo(...parts: readonly string[]): string {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}
