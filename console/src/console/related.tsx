/** What refers to an object, and what it can be told to do. */
import { useState } from "preact/hooks";
import { Dialog } from "../ui/elements.tsx";
import { atRevision, explainError, methodOf } from "./api.ts";
import type { ApiObject } from "./api.ts";
import type { Description, Kind } from "./description.ts";
import { titleOf } from "./description.ts";
import { labelOf } from "./form.tsx";
import { configurationChanges } from "./live.ts";
import { Failed } from "./parts.tsx";
import { linkTo } from "./router.ts";
import { useData } from "./use-data.ts";
import { plural } from "./views.ts";

interface RelatedProps {
  readonly kind: Kind;
  readonly description: Description;
  readonly id: string;
}

/** A field by which objects of a kind name others. */
interface Reference {
  readonly kind: Kind;
  readonly field: string;
  readonly filter: string;
}

/** At most so many are shown of each kind. */
const most = 20;

export function UsedBy({ kind, description, id }: RelatedProps) {
  const references = referencesTo(kind, id, description);
  const found = useData(
    () => Promise.all(references.map(async (one) => ({ ...one, items: await namedBy(one) }))),
    [id, configurationChanges.value, atRevision.value],
  );
  const shown = found.value?.filter(({ kind: other, items }) => items.length > 0 || isPartOf(other, kind)) ?? [];
  return (
    <>
      {shown.map(({ kind: other, field, items }) => (
        <section key={`${other.name}${field}`} class="panel" aria-label={plural(other.name)}>
          <header>
            <h2 class="grow">{plural(other.name)}</h2>
            {other.create !== undefined && atRevision.value === undefined && (
              <a class="button" href={`${linkTo("objects", other.name, "new")}?${field}=${id}`}>
                Add
              </a>
            )}
          </header>
          {items.length === 0 && <p class="inside muted">None yet.</p>}
          <ul class="plain-list">
            {items.map((one) => (
              <li key={one.id} class="row">
                <a href={linkTo("objects", other.name, one.id)}>{labelOf(one)}</a>
                {typeof one["action"] === "string" && <span class="tag">{one["action"]}</span>}
              </li>
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}

/** Named for the other, as rules of an IP policy are. */
function isPartOf({ name }: Kind, owner: Kind): boolean {
  return name.startsWith(`${owner.name}_`);
}

function referencesTo({ name }: Kind, id: string, { kinds }: Description): readonly Reference[] {
  return [...kinds.values()].flatMap((kind) => {
    if (kind.list === undefined || kind.parents > 0) return [];
    return Object.entries(kind.createSchema?.properties ?? {}).flatMap(([field, schema]) => {
      const [one, other] = [schema["x-ref"], schema.items?.["x-ref"]];
      const quoted = JSON.stringify(id);
      if (one?.includes(name)) return [{ kind, field, filter: `obj.${field.replace(/_id$/, "")}.id == ${quoted}` }];
      const list = [`${field.slice(0, -4)}s`, field.slice(0, -4).replace(/y$/, "ies")].find(
        (it) => it in (kind.shown.properties ?? {}),
      );
      return other?.includes(name) && list !== undefined ? [{ kind, field, filter: `${quoted} in obj.${list}` }] : [];
    });
  });
}

async function namedBy({ kind, filter }: Reference): Promise<readonly ApiObject[]> {
  const listing = methodOf(kind.list ?? "")({ limit: most, filter }) as {
    page(): Promise<{ items: readonly ApiObject[] }>;
  };
  // A field that filters do not have says nothing of who refers to what.
  return (await listing.page().catch(() => ({ items: [] }))).items;
}

/** What an object can be told to do, such as an agent to stop; asked once more before it is. */
export function Commands({ kind, id }: Pick<RelatedProps, "kind" | "id">) {
  const [asked, setAsked] = useState<string>();
  const [error, setError] = useState("");
  const tell = async (operationId: string): Promise<void> => {
    try {
      await methodOf(operationId)(id, {});
      setAsked(undefined);
    } catch (failure) {
      setError(explainError(failure).message);
    }
  };
  return (
    <>
      {kind.commands.map(({ name, operationId }) => (
        <button type="button" key={name} onClick={() => setAsked(operationId)}>
          {titleOf(name)}
        </button>
      ))}
      {asked !== undefined && (
        <Dialog
          title={titleOf(kind.commands.find(({ operationId }) => operationId === asked)?.name ?? "")}
          onClose={() => setAsked(undefined)}
        >
          <div class="column">
            <Failed error={error} />
            <p>This is told at once, and cannot be taken back.</p>
            <div class="row">
              <span class="grow" />
              <button type="button" onClick={() => setAsked(undefined)}>
                Leave it
              </button>
              <button type="button" class="primary" onClick={() => void tell(asked)}>
                Do it
              </button>
            </div>
          </div>
        </Dialog>
      )}
    </>
  );
}
