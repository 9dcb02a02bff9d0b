/** A search over everything: views, ids, and what objects say of themselves. */
import { useEffect, useState } from "preact/hooks";
import { Dialog } from "../ui/elements.tsx";
import { methodOf } from "./api.ts";
import type { ApiObject } from "./api.ts";
import type { Description } from "./description.ts";
import { titleOf } from "./description.ts";
import { labelOf } from "./form.tsx";
import { isSearching } from "./keys.ts";
import { kindOfId } from "./description.ts";
import { filterOf } from "./table.tsx";
import { go } from "./router.ts";
import { nav } from "./views.ts";

interface Hit {
  readonly path: string;
  readonly name: string;
  readonly of: string;
}

const most = 5;

export function Search({ description }: { readonly description: Description }) {
  const [text, setText] = useState("");
  /** Undefined: they are being looked for. */
  const [objects, setObjects] = useState<readonly Hit[] | undefined>([]);
  const [at, setAt] = useState(0);
  useEffect(() => {
    let isStale = false;
    setObjects(undefined);
    const timer = setTimeout(() => {
      void find(text.trim(), description).then((found) => !isStale && setObjects(found));
    }, 200);
    return () => {
      isStale = true;
      clearTimeout(timer);
    };
  }, [text]);
  const views = nav(description).flatMap(({ title, items }) =>
    items.map(({ path, name }) => ({ path, name, of: title })),
  );
  const hits = [
    ...views.filter(({ name }) => name.toLowerCase().includes(text.trim().toLowerCase())).slice(0, 8),
    ...(objects ?? []),
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
        {hits.length === 0 && <p class="muted">{objects ? "Nothing is called so." : "Looking …"}</p>}
      </form>
    </Dialog>
  );
}

async function find(text: string, description: Description): Promise<readonly Hit[]> {
  if (text.length < 2) return [];
  const own = /^[a-z]+_[0-9a-z]{20,}$/.test(text) ? kindOfId(text, description) : undefined;
  if (own === "https_edge") return [{ path: `edges/${text}`, name: text, of: titleOf(own) }];
  if (own !== undefined) return [{ path: `objects/${own}/${text}`, name: text, of: titleOf(own) }];
  if (text.startsWith("req_")) return [{ path: `traffic/${text}`, name: text, of: "Request" }];
  const kinds = [...description.kinds.values()].filter((kind) => kind.list !== undefined && kind.parents === 0);
  const found = await Promise.all(
    kinds.map(async (kind) => {
      const filter = filterOf(text, kind, description);
      if (filter === undefined || filter === "") return [];
      const listing = methodOf(kind.list ?? "")({ limit: most, filter }) as {
        page(): Promise<{ items: readonly ApiObject[] }>;
      };
      const { items } = await listing.page().catch(() => ({ items: [] }));
      return items.map((one) => ({
        path: kind.name === "https_edge" ? `edges/${one.id}` : `objects/${kind.name}/${one.id}`,
        name: labelOf(one),
        of: titleOf(kind.name),
      }));
    }),
  );
  return found.flat().slice(0, 20);
}
