/** A table of any kind of objects, filtered and paged by the server. Only visible rows are rendered. */
import { useEffect, useRef, useState } from "preact/hooks";
import { operations } from "../../../sdk/src/index.ts";
import { Command, Time } from "../ui/elements.tsx";
import type { ApiObject } from "./api.ts";
import { atRevision, explainError, isPast } from "./api.ts";
import { titleOf } from "./description.ts";
import type { Description, Kind, Schema } from "./description.ts";
import { labelOf } from "./label.ts";
import { loadNewest } from "./lists.ts";
import { configurationChanges, repeatWhileVisible, rereadMs } from "./live-changes.ts";
import { Value } from "./named.tsx";
import { Doc, Failed, Head, ListFilter, valueText } from "./parts.tsx";
import { linkTo } from "./router.ts";
import { Moment, moments } from "./moment.tsx";
import { SourceOf } from "./sources.tsx";
import { useSettled } from "./use-data.ts";
import { pluralName } from "./views.ts";

const rowHeight = 36;
/** Rows that are rendered together, and number of rows beyond the edges of the screen. */
const step = 8;
const pageSize = 100;
const maxColumns = 4;
const common = new Set(["id", "uri", "created_at", "started_at", "description", "metadata"]);

export interface KindProps {
  readonly kind: Kind;
  readonly description: Description;
  readonly parents?: readonly string[];
}

/** Columns of kinds whose first fields say less. */
const chosen: Readonly<Record<string, readonly string[]>> = {
  api_key: ["scopes", "last_used_at", "expires_at"],
  credential: ["acl", "last_used_at", "expires_at"],
  service_token: ["name", "acl", "last_used_at", "expires_at"],
  person: ["role", "active", "last_login_at"],
};

/** Returns the fields to show as columns: the ones in which the objects differ. */
function columnsOf({ name: kindName, shown }: Kind, { resolve }: Description): readonly string[] {
  const own = chosen[kindName];
  if (own) return own;
  const isShort = ([, given]: readonly [string, Schema]): boolean => {
    const { type, properties, ...field } = resolve(given);
    if (field["x-secret"] || (field["x-max-bytes"] ?? 0) > 4_096) return false;
    const isRef = properties !== undefined && Object.keys(properties).join() === "id,uri";
    return isRef || (properties === undefined && type !== undefined);
  };
  const fitting = Object.entries(shown.properties ?? {}).filter((one) => !common.has(one[0]) && isShort(one));
  return fitting.map(([name]) => name).slice(0, maxColumns);
}

interface LoadedPage {
  readonly items: readonly ApiObject[];
  readonly next: string | undefined;
}

export function Table({ kind, description, parents = [] }: KindProps) {
  const [text, setText] = useState("");
  const asked = useSettled(text.trim());
  const [listed, setListed] = useState<LoadedPage>({ items: [], next: undefined });
  const [state, setState] = useState<"loading" | "ready">("loading");
  const [error, setError] = useState("");
  const loading = useRef(0);
  const load = async (before?: string): Promise<void> => {
    loading.current += 1;
    const own = loading.current;
    try {
      const { items, nextBeforeId } = await loadNewest(kind, description, asked, pageSize, { parents, before });
      if (own !== loading.current) return;
      setListed((old) => ({ items: before === undefined ? items : [...old.items, ...items], next: nextBeforeId }));
      setError("");
    } catch (failure) {
      if (own === loading.current) setError(explainError(failure).message);
    }
    if (own === loading.current) setState("ready");
  };
  const isOld = isPast(kind.list);
  const count = useRef(0);
  count.current = listed.items.length;
  useEffect(() => {
    void load();
    // Objects that change automatically have no revision. A user on a later page stays there.
    if (kind.create !== undefined || isOld) return undefined;
    return repeatWhileVisible(rereadMs, () => void (count.current <= pageSize && load()));
  }, [kind.name, asked, parents.join(), atRevision.value, configurationChanges.value]);
  const columns = columnsOf(kind, description);
  const title = pluralName(kind.name);
  return (
    <section class="list-view" aria-label={title}>
      <Head title={title} doc={kind.doc}>
        <ListFilter placeholder="Filter" value={text} onText={setText} />
        {kind.create !== undefined && !isOld && (
          <a class="button primary" href={linkTo("objects", kind.name, "new")}>
            New
          </a>
        )}
      </Head>
      <Failed error={error} again={() => void load()} />
      {state === "ready" && listed.items.length === 0 && error === "" ? (
        <Nothing kind={kind} isFiltered={asked !== ""} isOld={isOld} />
      ) : (
        <Rows
          columns={columns}
          kind={kind}
          description={description}
          listed={listed}
          onMore={() => listed.next !== undefined && void load(listed.next)}
        />
      )}
    </section>
  );
}

interface NothingProps {
  readonly kind: Kind;
  readonly isFiltered: boolean;
  /** Whether a past revision is shown, in which nothing can be created. */
  readonly isOld: boolean;
}

function Nothing({ kind, isFiltered, isOld }: NothingProps) {
  if (isFiltered) return <p class="empty">No objects match the filter.</p>;
  if (isOld) return <p class="empty">{`There were none at revision ${atRevision.value}. ${kind.doc}`}</p>;
  return (
    <div class="empty">
      <p>
        <Doc text={kind.doc} />
      </p>
      {kind.create === undefined ? (
        <SourceOf kind={kind.name} />
      ) : (
        <>
          <a class="button primary" href={linkTo("objects", kind.name, "new")}>
            New {titleOf(kind.name)}
          </a>
          <Command text={createHelp(kind.create)} />
        </>
      )}
    </div>
  );
}

/** Shows how to create an object on the command line. */
function createHelp(operationId: string): string {
  const found = operations.find(({ id }) => id === operationId);
  return `npx postern api ${found?.group.join("/") ?? ""} create --help`;
}

interface RowsProps extends KindProps {
  readonly columns: readonly string[];
  readonly listed: LoadedPage;
  onMore(): void;
}

/** Renders only visible rows, and requests the next page when the user scrolls down. */
function Rows({ columns, kind, description, listed, onMore }: RowsProps) {
  const [range, setRange] = useState<readonly [first: number, last: number]>([0, 40]);
  const element = useRef<HTMLDivElement>(null);
  const update = (): void => {
    if (!element.current) return;
    const { scrollTop, clientHeight } = element.current;
    // In steps, so that most scroll events render nothing.
    const first = Math.max(0, (Math.floor(scrollTop / rowHeight / step) - 1) * step);
    const end = (Math.ceil((scrollTop + clientHeight) / rowHeight / step) + 1) * step;
    setRange((now) => (now[0] === first && now[1] === end ? now : [first, end]));
  };
  useEffect(update, []);
  const { items } = listed;
  const first = Math.min(range[0], items.length);
  const last = Math.min(range[1], items.length);
  const template = ["minmax(170px, 1.2fr)", ...columns.map(() => "minmax(90px, 1fr)"), "140px"].join(" ");
  return (
    <div
      class="rows"
      ref={element}
      role="table"
      aria-rowcount={listed.next === undefined ? items.length + 1 : -1}
      onScroll={(event) => {
        const { scrollTop, clientHeight, scrollHeight } = event.currentTarget;
        update();
        if (scrollTop + clientHeight * 3 > scrollHeight) onMore();
      }}
    >
      <div class="head-row" role="row" style={{ gridTemplateColumns: template }}>
        <span role="columnheader">Name</span>
        {columns.map((name) => (
          <span role="columnheader" key={name}>
            {titleOf(name)}
          </span>
        ))}
        <span role="columnheader">Since</span>
      </div>
      <div role="rowgroup" class="body-rows" style={{ height: `${items.length * rowHeight}px` }}>
        {items.slice(first, last).map((one, at) => (
          <div
            role="row"
            aria-rowindex={first + at + 2}
            key={one.id}
            class="body-row"
            style={{ gridTemplateColumns: template, top: `${(first + at) * rowHeight}px` }}
          >
            <span role="cell" class="cut">
              <a href={linkTo("objects", kind.name, one.id)} title={one.id}>
                {labelOf(one)}
              </a>
            </span>
            {columns.map((name) => (
              <span role="cell" class="cut" key={name} title={valueText(one[name])}>
                {moments.has(name) ? (
                  <Moment name={name} at={one[name]} />
                ) : (
                  <Value value={one[name]} description={description} />
                )}
              </span>
            ))}
            <span role="cell" class="muted">
              <Since object={one} />
            </span>
          </div>
        ))}
      </div>
    </div>
  );
}

/** Shows the creation time, or the start time for objects that are created automatically. */
function Since({ object }: { readonly object: ApiObject }) {
  const at = object["created_at"] ?? object["started_at"];
  return typeof at === "string" ? <Time at={at} /> : null;
}
