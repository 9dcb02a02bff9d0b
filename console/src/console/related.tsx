/** References to an object, and commands on it. */
import { useState } from "preact/hooks";
import { Command, Dialog } from "../ui/elements.tsx";
import { atRevision, explainError, methodOf, postern, readOptions } from "./api.ts";
import type { ApiObject } from "./api.ts";
import type { Description, Kind } from "./description.ts";
import { titleOf } from "./description.ts";
import { labelOf } from "./label.ts";
import { configurationChanges } from "./live-changes.ts";
import { Name } from "./named.tsx";
import { Failed } from "./parts.tsx";
import { linkTo } from "./router.ts";
import { useData } from "./use-data.ts";
import { pluralName } from "./views.ts";

interface RelatedProps {
  readonly kind: Kind;
  readonly description: Description;
  readonly id: string;
}

/** Maximum number of parts that are shown. */
const most = 20;

/** Shows an object's parts, such as rules of an IP policy, and its references, such as routes of a backend. */
export function UsedBy({ kind, description, id }: RelatedProps) {
  const on = [id, configurationChanges.value, atRevision.value];
  const parts = partsOf(kind, id, description);
  const belonging = useData(() => Promise.all(parts.map(async (one) => ({ ...one, items: await itemsOf(one) }))), on);
  const isPart = (name: string): boolean => parts.some((one) => one.kind.name === name);
  const naming = useData(async () => {
    // References are known only for the current state.
    if (kind.update === undefined || atRevision.value !== undefined) return { references: [], more: false };
    const { references, more } = await postern.references.get(id);
    return { references: references.filter((one) => !isPart(one.kind)), more };
  }, on);
  return (
    <>
      {belonging.value?.map(({ kind: other, field, items }) => (
        <section key={other.name} class="panel" aria-label={pluralName(other.name)}>
          <header>
            <h2 class="grow">{pluralName(other.name)}</h2>
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
      <Failed error={belonging.error || naming.error} />
      {naming.value && naming.value.references.length > 0 && (
        <section class="panel" aria-label="Used by">
          <header>
            <h2>Used by</h2>
          </header>
          <ul class="plain-list">
            {naming.value.references.map((one) => (
              <li key={one.id} class="row">
                <span class="tag">{titleOf(one.kind)}</span>
                {one.kind === "https_edge_route" ? (
                  <Name id={one.id} description={description} />
                ) : (
                  <a href={linkOf(one)}>{one.description || "without a description"}</a>
                )}
              </li>
            ))}
            {naming.value.more && <li class="muted">and others</li>}
          </ul>
        </section>
      )}
    </>
  );
}

/** Returns the link to an object's page. */
export function linkOf({
  kind,
  id,
  uri,
}: {
  readonly kind: string;
  readonly id: string;
  readonly uri: string;
}): string {
  const edge = /\/edges\/https\/(\w+)(?:\/routes\/\w+)?$/.exec(uri)?.[1];
  if (edge === undefined) return linkTo("objects", kind, id);
  return edge === id ? linkTo("edges", edge) : linkTo("edges", edge, id);
}

interface RelatedList {
  readonly kind: Kind;
  /** Field that contains the owner's id. */
  readonly field: string;
  readonly filter: string;
}

/** Returns the kinds that are named after the owner's kind and must refer to it. */
function partsOf(owner: Kind, id: string, { kinds }: Description): readonly RelatedList[] {
  return [...kinds.values()].flatMap((kind) => {
    if (kind.list === undefined || kind.parents > 0 || !kind.name.startsWith(`${owner.name}_`)) return [];
    return Object.entries(kind.createSchema?.properties ?? {}).flatMap(([field, schema]) =>
      schema["x-ref"]?.includes(owner.name)
        ? [{ kind, field, filter: `obj.${field.replace(/_id$/, "")}.id == ${JSON.stringify(id)}` }]
        : [],
    );
  });
}

async function itemsOf({ kind, filter }: RelatedList): Promise<readonly ApiObject[]> {
  const listing = methodOf(kind.list ?? "")({ limit: most, filter, ...readOptions(kind.list ?? "") }) as {
    page(): Promise<{ items: readonly ApiObject[] }>;
  };
  return (await listing.page()).items;
}

/** Shows the commands on an object, such as stopping an agent. Each asks for confirmation. */
export function Commands({ kind, id }: Pick<RelatedProps, "kind" | "id">) {
  const [asked, setAsked] = useState<string>();
  const [error, setError] = useState("");
  const [token, setToken] = useState<string>();
  const tell = async (operationId: string): Promise<void> => {
    try {
      const answer = (await methodOf(operationId)(id, {})) as { readonly token?: string } | undefined;
      setToken(answer?.token);
      if (answer?.token === undefined) setAsked(undefined);
    } catch (failure) {
      setError(explainError(failure).message);
    }
  };
  const close = (): void => {
    setAsked(undefined);
    setToken(undefined);
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
          onClose={close}
        >
          <div class="column">
            <Failed error={error} />
            {token === undefined ? (
              <p>
                {asked.startsWith("rotate")
                  ? "This creates a new one with the same rights. Both work for a day, and then the old one expires."
                  : "This takes effect immediately, and cannot be undone."}
              </p>
            ) : (
              <>
                <p>The new one is shown only once. Store it in a safe place.</p>
                <Command text={token} />
              </>
            )}
            <div class="row">
              <span class="grow" />
              <button type="button" onClick={close}>
                {token === undefined ? "Cancel" : "I have it"}
              </button>
              <button type="button" class="primary" hidden={token !== undefined} onClick={() => void tell(asked)}>
                {titleOf(kind.commands.find(({ operationId }) => operationId === asked)?.name ?? "")}
              </button>
            </div>
          </div>
        </Dialog>
      )}
    </>
  );
}
