/** Finds and opens services, views, actions, ids, and objects of any kind. */
import { ArrowRight, Boxes, Globe, Plus, Search as SearchIcon, Zap } from "lucide";
import type { IconNode } from "lucide";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../ui/icon.tsx";
import { toggleTheme } from "../ui/theme.ts";
import { logOut } from "./api.ts";
import type { Description } from "./description.ts";
import { kindOfId, titleOf } from "./description.ts";
import { labelOf } from "./label.ts";
import { isSearching } from "./keyboard.ts";
import { loadNewest } from "./lists.ts";
import { goTo } from "./router.ts";
import { linkToService, nameOf, loadNewestServices } from "./services/services.ts";
import { kindsInGroups, buildMenu } from "./views.ts";

interface Hit {
  readonly key: string;
  readonly name: string;
  /** Group of the results. */
  readonly of: string;
  readonly icon: IconNode;
  readonly open: () => void;
}

/** Maximum number of results per kind, and in total. */
const most = 5;
const mostHits = 20;
/** Maximum number of kinds searched concurrently, because a server with many objects has other work. */
const atOnce = 4;

export function Search({ description }: { readonly description: Description }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState<readonly Hit[]>([]);
  const [isLooking, setLooking] = useState(false);
  const [at, setAt] = useState(0);
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  useEffect(() => {
    let isStale = false;
    setFound([]);
    setLooking(text.trim().length > 1);
    const timer = setTimeout(() => {
      const add = (hits: readonly Hit[]): void => {
        if (!isStale) setFound((before) => [...before, ...hits].slice(0, mostHits));
      };
      void findObjects(text.trim(), description, () => isStale, add).then(() => !isStale && setLooking(false));
    }, 200);
    return () => {
      isStale = true;
      clearTimeout(timer);
    };
  }, [text]);
  const words = text.trim().toLowerCase().split(/\s+/);
  const fits = ({ name }: Hit): boolean => words.every((word) => name.toLowerCase().includes(word));
  const hits = [
    ...listKnown(description)
      .filter(fits)
      .slice(0, text.trim() === "" ? 12 : 8),
    ...found,
  ];
  const close = (): void => void (isSearching.value = false);
  const open = (hit: Hit | undefined): void => {
    if (!hit) return;
    close();
    hit.open();
  };
  useEffect(() => {
    document.querySelector("#search-hits [aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [at]);
  return (
    <dialog ref={element} class="palette" aria-label="Search" onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          open(hits[at]);
        }}
      >
        <div class="palette-text">
          <Icon of={SearchIcon} />
          <input
            type="text"
            autoFocus
            role="combobox"
            aria-label="Search everything"
            aria-expanded="true"
            aria-controls="search-hits"
            aria-activedescendant={hits[at] && `hit-${at}`}
            placeholder="A service, an action, a name, an id …"
            value={text}
            onInput={(event) => {
              setText(event.currentTarget.value);
              setAt(0);
            }}
            onKeyDown={(event) => {
              const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
              if (step === 0) return;
              event.preventDefault();
              setAt(Math.max(0, Math.min(hits.length - 1, at + step)));
            }}
          />
          <kbd>Esc</kbd>
        </div>
        <ul id="search-hits" class="hits" role="listbox" aria-label="Found">
          {hits.map((hit, index) => (
            <li key={hit.key} id={`hit-${index}`} role="option" aria-selected={index === at} onClick={() => open(hit)}>
              <Icon of={hit.icon} />
              <span class="grow cut">{hit.name}</span>
              <span class="muted small">{hit.of}</span>
            </li>
          ))}
        </ul>
        {(isLooking || hits.length === 0) && (
          <p class="muted palette-note" role="status">
            {isLooking ? "Searching …" : "No results."}
          </p>
        )}
      </form>
    </dialog>
  );
}

/** Returns actions and views. */
function listKnown(description: Description): readonly Hit[] {
  const action = (name: string, open: () => void): Hit => ({ key: name, name, of: "Action", icon: Zap, open });
  const view = (path: string, name: string, of: string): Hit => ({
    key: path,
    name,
    of,
    icon: ArrowRight,
    open: () => goTo(path),
  });
  const kinds = kindsInGroups(description).flatMap(({ items }) => items);
  const creatable = [...description.kinds.values()].filter((kind) => kind.create !== undefined && kind.parents === 0);
  return [
    action("Publish a service", () => goTo("publish")),
    action("Invite an agent", () => goTo("invite")),
    action("Explain a request", () => goTo("explain")),
    action("Undo a change", () => goTo("history")),
    ...buildMenu(description).flatMap((part) => [
      view(part.path, part.name, "Page"),
      ...part.items.map(({ path, name }) => view(path, name, part.name)),
    ]),
    action("Switch between light and dark", toggleTheme),
    action("Log out", () => void logOut()),
    ...kinds
      .filter(({ path }) => !buildMenu(description).some((part) => part.items.some((item) => item.path === path)))
      .map(({ path, name }) => view(path, name, "All objects")),
    ...creatable.map(({ name }): Hit => ({
      key: `new ${name}`,
      name: `New ${titleOf(name)}`,
      of: "Action",
      icon: Plus,
      open: () => goTo(`objects/${name}/new`),
    })),
  ];
}

/** Reports results as they are found. Stops if there are enough, or the user starts another search. */
async function findObjects(
  text: string,
  description: Description,
  isOver: () => boolean,
  found: (hits: readonly Hit[]) => void,
): Promise<void> {
  if (text.length < 2) return;
  const object = (path: string, name: string, of: string): Hit => ({
    key: path,
    name,
    of,
    icon: Boxes,
    open: () => goTo(path),
  });
  const own = /^[a-z]+_[0-9a-z]{20,}$/.test(text) ? kindOfId(text, description) : undefined;
  if (own === "https_edge") return found([object(`edges/${text}`, text, titleOf(own))]);
  if (own !== undefined) return found([object(`objects/${own}/${text}`, text, titleOf(own))]);
  if (text.startsWith("req_")) return found([object(`traffic/${text}`, text, "Request")]);
  // A key that may not list some kind of service finds no services.
  const services = (await loadNewestServices(text, most, description).catch(() => undefined))?.services ?? [];
  found(
    services.slice(0, most).map((one) => {
      const open = (): void => goTo(linkToService(one).slice(2));
      return { key: `service ${one.id}`, name: nameOf(one), of: "Service", icon: Globe, open };
    }),
  );
  const kinds = [...description.kinds.values()].filter((kind) => kind.list !== undefined && kind.parents === 0);
  let left = mostHits - services.length;
  const look = async (): Promise<void> => {
    for (let kind = kinds.shift(); kind && left > 0 && !isOver(); kind = kinds.shift()) {
      const { name } = kind;
      // Kinds that the key may not list have no results.
      const page = await loadNewest(kind, description, text, most).catch(() => undefined);
      const items = page?.items ?? [];
      left -= items.length;
      found(
        items.map((one) =>
          object(name === "https_edge" ? `edges/${one.id}` : `objects/${name}/${one.id}`, labelOf(one), titleOf(name)),
        ),
      );
    }
  };
  await Promise.all(Array.from({ length: atOnce }, look));
}
