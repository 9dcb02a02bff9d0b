/** Searches views, ids, and the texts of objects. */
import { useEffect, useState } from "preact/hooks";
import { Dialog } from "../ui/elements.tsx";
import type { Description } from "./description.ts";
import { kindOfId, titleOf } from "./description.ts";
import { labelOf } from "./label.ts";
import { isSearching } from "./keys.ts";
import { newestOf } from "./lists.ts";
import { go } from "./router.ts";
import { nav } from "./views.ts";

interface Hit {
  readonly path: string;
  readonly name: string;
  readonly of: string;
}

/** Maximum number of results per kind, and in total. */
const most = 5;
const mostHits = 20;
/** Maximum number of kinds searched concurrently, because a server with many objects has other work. */
const atOnce = 4;

export function Search({ description }: { readonly description: Description }) {
  const [text, setText] = useState("");
  const [objects, setObjects] = useState<readonly Hit[]>([]);
  const [isLooking, setLooking] = useState(false);
  const [at, setAt] = useState(0);
  useEffect(() => {
    let isStale = false;
    setObjects([]);
    setLooking(true);
    const timer = setTimeout(() => {
      const found = (hits: readonly Hit[]): void => {
        if (!isStale) setObjects((before) => [...before, ...hits].slice(0, mostHits));
      };
      void find(text.trim(), description, () => isStale, found).then(() => !isStale && setLooking(false));
    }, 200);
    return () => {
      isStale = true;
      clearTimeout(timer);
    };
  }, [text]);
  const views = nav(description).flatMap((part) => [
    { path: part.path, name: part.name, of: "Page" },
    ...part.items.map(({ path, name }) => ({ path, name, of: part.name })),
  ]);
  const hits = [
    ...views.filter(({ name }) => name.toLowerCase().includes(text.trim().toLowerCase())).slice(0, 8),
    ...objects,
  ];
  const close = (): void => void (isSearching.value = false);
  const open = (hit: Hit | undefined): void => {
    if (!hit) return;
    close();
    go(hit.path);
  };
  return (
    <Dialog title="Search" onClose={close}>
      <form
        class="column"
        onSubmit={(event) => {
          event.preventDefault();
          open(hits[at]);
        }}
      >
        <input
          type="text"
          autoFocus
          role="combobox"
          aria-label="Search everything"
          aria-expanded="true"
          aria-controls="search-hits"
          placeholder="A view, an id, a name, a host …"
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
        <ul id="search-hits" class="hits" role="listbox" aria-label="Found">
          {hits.map((hit, index) => (
            <li key={hit.path} role="option" aria-selected={index === at} onClick={() => open(hit)}>
              <span class="grow cut">{hit.name}</span> <span class="muted small">{hit.of}</span>
            </li>
          ))}
        </ul>
        {(isLooking || hits.length === 0) && (
          <p class="muted" role="status">
            {isLooking ? "Looking …" : "No results."}
          </p>
        )}
      </form>
    </Dialog>
  );
}

/** Reports results as they are found. Stops if there are enough, or the user starts another search. */
async function find(
  text: string,
  description: Description,
  isOver: () => boolean,
  found: (hits: readonly Hit[]) => void,
): Promise<void> {
  if (text.length < 2) return;
  const own = /^[a-z]+_[0-9a-z]{20,}$/.test(text) ? kindOfId(text, description) : undefined;
  if (own === "https_edge") return found([{ path: `edges/${text}`, name: text, of: titleOf(own) }]);
  if (own !== undefined) return found([{ path: `objects/${own}/${text}`, name: text, of: titleOf(own) }]);
  if (text.startsWith("req_")) return found([{ path: `traffic/${text}`, name: text, of: "Request" }]);
  const kinds = [...description.kinds.values()].filter((kind) => kind.list !== undefined && kind.parents === 0);
  let left = mostHits;
  const look = async (): Promise<void> => {
    for (let kind = kinds.shift(); kind && left > 0 && !isOver(); kind = kinds.shift()) {
      const { name } = kind;
      // Kinds that the key may not list have no results.
      const page = await newestOf(kind, description, text, most).catch(() => undefined);
      const items = page?.items ?? [];
      left -= items.length;
      found(
        items.map((one) => ({
          path: name === "https_edge" ? `edges/${one.id}` : `objects/${name}/${one.id}`,
          name: labelOf(one),
          of: titleOf(name),
        })),
      );
    }
  };
  await Promise.all(Array.from({ length: atOnce }, look));
}
