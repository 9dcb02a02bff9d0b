/** Any kind of objects: a table, one of them, and its form. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Command, TextInput, Time } from "../ui/elements.tsx";
import type { ApiObject, Json, JsonObject } from "./api.ts";
import { atRevision, call, explainError, methodOf, readOptions } from "./api.ts";
import { Review, fieldsOf } from "./change.tsx";
import type { Change } from "./change.tsx";
import { titleOf } from "./description.ts";
import type { Description, Kind, Schema } from "./description.ts";
import { Fields, labelOf } from "./form.tsx";
import { configurationChanges } from "./live.ts";
import { Failed, Head, Id, Value, valueText } from "./parts.tsx";
import { PolicyProtocol, protocolOf } from "./policy/policy-field.tsx";
import { Commands, UsedBy } from "./related.tsx";
import { go, linkTo, place } from "./router.ts";
import { useData } from "./use-data.ts";

const rowHeight = 36;
const pageSize = 100;
const maxColumns = 4;
const common = new Set(["id", "uri", "created_at", "description", "metadata"]);

interface KindProps {
  readonly kind: Kind;
  readonly description: Description;
  readonly parents?: readonly string[];
}

/** Which fields a table has: those that tell objects apart. */
function columnsOf({ shown }: Kind, { resolve }: Description): readonly string[] {
  const isShort = ([, given]: readonly [string, Schema]): boolean => {
    const { type, properties, ...field } = resolve(given);
    if (field["x-secret"] || (field["x-max-bytes"] ?? 0) > 4_096) return false;
    const isRef = properties !== undefined && Object.keys(properties).join() === "id,uri";
    return isRef || (properties === undefined && type !== undefined);
  };
  const fitting = Object.entries(shown.properties ?? {}).filter((one) => !common.has(one[0]) && isShort(one));
  return fitting.map(([name]) => name).slice(0, maxColumns);
}

/** An expression for the server: the text in any of the fields that are texts. */
export function filterOf(text: string, kind: Kind, { resolve }: Description): string | undefined {
  if (text === "") return undefined;
  const quoted = JSON.stringify(text);
  const texts = Object.entries(kind.shown.properties ?? {}).filter(([name, given]) => {
    const field = resolve(given);
    return (
      field.type === "string" &&
      !field["x-secret"] &&
      !field["x-sensitive" as "x-secret"] &&
      name !== "uri" &&
      name !== "created_at"
    );
  });
  return texts
    .map(([name]) => `obj.${name}.contains(${quoted})`)
    .slice(0, 8)
    .join(" || ");
}

interface Listed {
  readonly items: readonly ApiObject[];
  readonly next: string | undefined;
}

export function Table({ kind, description, parents = [] }: KindProps) {
  const [text, setText] = useState("");
  const [asked, setAsked] = useState("");
  const [listed, setListed] = useState<Listed>({ items: [], next: undefined });
  const [state, setState] = useState<"loading" | "ready">("loading");
  const [error, setError] = useState("");
  const loading = useRef(0);
  const load = async (before?: string): Promise<void> => {
    loading.current += 1;
    const own = loading.current;
    try {
      const filter = filterOf(asked, kind, description);
      const options = {
        limit: pageSize,
        ...(before !== undefined && { before_id: before }),
        ...(filter !== undefined && { filter }),
        ...readOptions(kind.list ?? ""),
      };
      const listing = methodOf(kind.list ?? "")(...parents, options) as {
        page(): Promise<{ items: readonly ApiObject[]; nextBeforeId: string | undefined }>;
      };
      const { items, nextBeforeId } = await listing.page();
      if (own !== loading.current) return;
      setListed((old) => ({ items: before === undefined ? items : [...old.items, ...items], next: nextBeforeId }));
      setError("");
    } catch (failure) {
      if (own === loading.current) setError(explainError(failure).message);
    }
    if (own === loading.current) setState("ready");
  };
  useEffect(() => void load(), [kind.name, asked, parents.join(), atRevision.value, configurationChanges.value]);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), 250);
    return () => clearTimeout(timer);
  }, [text]);
  const columns = columnsOf(kind, description);
  const title = `${titleOf(kind.name)}s`.replace(/ys$/, "ies");
  return (
    <section class="list-view" aria-label={title}>
      <Head title={title} doc={kind.doc}>
        <TextInput
          id="list-filter"
          type="search"
          aria-label="Filter"
          placeholder="Filter"
          value={text}
          onText={setText}
        />
        {kind.create !== undefined && atRevision.value === undefined && (
          <a class="button primary" href={linkTo("objects", kind.name, "new")}>
            New
          </a>
        )}
      </Head>
      <Failed error={error} again={() => void load()} />
      {state === "ready" && listed.items.length === 0 && error === "" ? (
        <Nothing kind={kind} isFiltered={asked !== ""} />
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

function Nothing({ kind, isFiltered }: { readonly kind: Kind; readonly isFiltered: boolean }) {
  if (isFiltered) return <p class="empty">Nothing fits the filter.</p>;
  return (
    <div class="empty">
      <p>{kind.doc}</p>
      {kind.create === undefined ? (
        <p>There are none now; they come by themselves.</p>
      ) : (
        <>
          <a class="button primary" href={linkTo("objects", kind.name, "new")}>
            New {titleOf(kind.name)}
          </a>
          <Command text={`postern api POST ${kind.path}`} />
        </>
      )}
    </div>
  );
}

interface RowsProps extends KindProps {
  readonly columns: readonly string[];
  readonly listed: Listed;
  onMore(): void;
}

/** Only the rows that can be seen are there; the next page is asked for on the way down. */
function Rows({ columns, kind, description, listed, onMore }: RowsProps) {
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(800);
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (element.current) setHeight(element.current.clientHeight);
  }, []);
  const { items } = listed;
  const first = Math.max(0, Math.floor(top / rowHeight) - 10);
  const last = Math.min(items.length, Math.ceil((top + height) / rowHeight) + 10);
  const template = ["minmax(170px, 1.2fr)", ...columns.map(() => "minmax(90px, 1fr)"), "140px"].join(" ");
  const kindOf = (id: string): string | undefined => kindOfId(id, description);
  return (
    <div
      class="rows"
      ref={element}
      role="table"
      aria-rowcount={listed.next === undefined ? items.length + 1 : -1}
      onScroll={(event) => {
        const { scrollTop, clientHeight, scrollHeight } = event.currentTarget;
        setTop(scrollTop);
        setHeight(clientHeight);
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
                <Value value={one[name]} kindOf={kindOf} />
              </span>
            ))}
            <span role="cell" class="muted">
              {typeof one["created_at"] === "string" && <Time at={one["created_at"]} />}
            </span>
          </div>
        ))}
      </div>
    </div>
  );
}

/** The kind whose ids look so. */
export function kindOfId(id: string, { kinds }: Description): string | undefined {
  const prefix = `^${id.slice(0, id.indexOf("_"))}_`;
  for (const kind of kinds.values()) {
    const pattern = (kind.shown.properties?.["id"] as { readonly pattern?: string } | undefined)?.pattern;
    if (pattern?.startsWith(prefix)) return kind.name;
  }
  return undefined;
}

/** One object: what it is, and its form. */
export function One({ kind, description, parents = [], id }: KindProps & { readonly id: string }) {
  const data = useData(
    () => call(kind.get ?? "", ...parents, id, readOptions(kind.get ?? "")),
    [kind.name, id, atRevision.value, configurationChanges.value],
  );
  const [deletes, setDeletes] = useState(false);
  const [edits, setEdits] = useState(false);
  const object = data.value;
  const kindOf = (one: string): string | undefined => kindOfId(one, description);
  const isNow = atRevision.value === undefined;
  return (
    <section aria-label={titleOf(kind.name)} class="column">
      <Head title={object ? labelOf(object) : titleOf(kind.name)} doc={kind.doc}>
        <Id id={id} />
        {object && isNow && <Commands kind={kind} id={id} />}
        {object && isNow && kind.update !== undefined && !edits && (
          <button type="button" class="primary" onClick={() => setEdits(true)}>
            Edit
          </button>
        )}
        {object && isNow && kind.remove !== undefined && (
          <button type="button" class="danger" onClick={() => setDeletes(true)}>
            Delete
          </button>
        )}
      </Head>
      <Failed error={data.error} again={data.again} />
      {object && !edits && (
        <dl class="panel inside pairs">
          {Object.entries(object)
            .filter(([name]) => name !== "uri" && name !== "id")
            .map(([name, value]) => [
              <dt key={`${name}n`}>{titleOf(name)}</dt>,
              <dd key={`${name}v`}>
                {/_at$|^last_/.test(name) && typeof value === "string" ? (
                  <Time at={value} />
                ) : (
                  <Deep value={value} kindOf={kindOf} />
                )}
              </dd>,
            ])}
        </dl>
      )}
      {object && edits && (
        <Edit kind={kind} description={description} parents={parents} object={object} onDone={() => setEdits(false)} />
      )}
      {object && !edits && <UsedBy kind={kind} description={description} id={id} />}
      {object && (
        <p class="small">
          <a href={linkTo("history", id)}>History of this</a>
        </p>
      )}
      {object && deletes && (
        <Review
          change={{ kind, parents, object, input: null }}
          description={description}
          onDone={() => go(`objects/${kind.name}`)}
          onClose={() => setDeletes(false)}
        />
      )}
    </section>
  );
}

function Deep({ value, kindOf }: { readonly value: Json; kindOf(id: string): string | undefined }) {
  const isPlain = typeof value !== "object" || value === null || Array.isArray(value) || "id" in value;
  if (isPlain)
    return typeof value === "string" && value.includes("\n") ? (
      <pre>{value}</pre>
    ) : (
      <Value value={value} kindOf={kindOf} />
    );
  return (
    <dl class="pairs">
      {Object.entries(value as JsonObject).map(([name, one]) => [
        <dt key={`${name}n`}>{name}</dt>,
        <dd key={`${name}v`}>
          <Deep value={one} kindOf={kindOf} />
        </dd>,
      ])}
    </dl>
  );
}

interface EditProps extends KindProps {
  /** Absent: a new one. */
  readonly object?: ApiObject;
  readonly first?: JsonObject;
  onDone(answer: ApiObject | undefined): void;
}

export function Edit({ kind, description, parents = [], object, first = {}, onDone }: EditProps) {
  // What is read again while somebody types does not take their words away.
  const [base] = useState(object);
  const [value, setValue] = useState<JsonObject>(base ? fieldsOf(base, kind, description) : first);
  const [faults, setFaults] = useState<Readonly<Record<string, string>>>({});
  const [change, setChange] = useState<Change>();
  const schema = (base ? kind.updateSchema : kind.createSchema) ?? {};
  const inPath = [...kind.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
  return (
    <form
      class="panel inside column"
      onSubmit={(event) => {
        event.preventDefault();
        setFaults({});
        setChange({ kind, parents, ...(base && { object: base }), input: value });
      }}
    >
      <PolicyProtocol.Provider value={protocolOf(kind.name, value)}>
        <Fields
          description={description}
          schema={schema}
          value={value}
          faults={faults}
          without={inPath}
          onChange={setValue}
        />
      </PolicyProtocol.Provider>
      <div class="row">
        <span class="grow" />
        <button type="button" onClick={() => onDone(undefined)}>
          Cancel
        </button>
        <button type="submit" class="primary">
          Review …
        </button>
      </div>
      {change && (
        <Review
          change={change}
          description={description}
          onFaults={setFaults}
          onDone={(answer) => {
            setChange(undefined);
            onDone(answer);
          }}
          onClose={() => setChange(undefined)}
        />
      )}
    </form>
  );
}

/** A new object; of what is shown once, it is shown. */
export function New({ kind, description }: KindProps) {
  const [made, setMade] = useState<ApiObject>();
  const secret = made?.["token"];
  if (made && typeof secret === "string") {
    return (
      <section class="column" aria-label="Shown once">
        <Head title={titleOf(kind.name)} />
        <p class="notice warn">This is shown once. Keep it where nobody else reads it.</p>
        <Command text={secret} />
        <p>
          <a class="button" href={linkTo("objects", kind.name, made.id)}>
            I have it
          </a>
        </p>
      </section>
    );
  }
  return (
    <section class="column" aria-label={`New ${titleOf(kind.name)}`}>
      <Head title={`New ${titleOf(kind.name)}`} doc={kind.doc} />
      <Edit
        kind={kind}
        description={description}
        first={Object.fromEntries(place.value.query)}
        onDone={(answer) => {
          if (answer && typeof answer["token"] === "string") setMade(answer);
          else go(answer ? `objects/${kind.name}/${answer.id}` : `objects/${kind.name}`);
        }}
      />
    </section>
  );
}
