/** What is going to change, seen before it does: as a diff, and as commands that do the same. */
import { useEffect, useState } from "preact/hooks";
import { PosternError, errorCodes } from "../../../sdk/src/index.ts";
import { Dialog, Tag, TextInput } from "../ui/elements.tsx";
import { Diff } from "../ui/diff.tsx";
import { call, explainError, postern } from "./api.ts";
import type { ApiObject, Json, JsonObject } from "./api.ts";
import { Copies } from "./copies.tsx";
import { inputOf } from "./description.ts";
import type { Description, Kind, Schema } from "./description.ts";
import { titleOf } from "./description.ts";

/** A write that is being looked at. */
export interface Change {
  readonly kind: Kind;
  /** Ids in its path before its own. */
  readonly parents: readonly string[];
  /** Absent: one is created. */
  readonly object?: ApiObject;
  /** All fields as they are going to be; null: it is deleted. */
  readonly input: JsonObject | null;
}

interface ReviewProps {
  readonly change: Change;
  readonly description: Description;
  onFaults?(faults: Readonly<Record<string, string>>): void;
  /** @param answer what was written, with what is shown once; undefined after a deletion */
  onDone(answer: ApiObject | undefined): void;
  onClose(): void;
}

type PlannedFields = readonly { readonly path: string; readonly before: unknown; readonly after: unknown }[];
interface Planned {
  readonly changes: readonly {
    readonly action: string;
    readonly kind: string;
    readonly name: string | null;
    readonly fields: PlannedFields;
  }[];
  readonly warnings: readonly { readonly path: string; readonly message: string }[];
}

export function Review({ change, description, onFaults, onDone, onClose }: ReviewProps) {
  const { kind, object, input } = change;
  const [plan, setPlan] = useState<Planned>();
  const [expected, setExpected] = useState<ApiObject>();
  const [isTaken, setTaken] = useState(false);
  const [error, setError] = useState("");
  const [theirs, setTheirs] = useState<ApiObject>();
  const [base, setBase] = useState(object);
  const [reason, setReason] = useState("");
  const [isBusy, setBusy] = useState(false);
  const before = base ? fieldsOf(base, kind, description) : undefined;
  // What was wanted stays what it was, whatever others have changed meanwhile.
  const patch = patchOf(object && fieldsOf(object, kind, description), input);
  const schema = (object ? kind.updateSchema : kind.createSchema) ?? kind.shown;
  const concealed = (fields: JsonObject | undefined, known: JsonObject | undefined): JsonObject | undefined =>
    fields && (conceal(fields, known, schema, description) as JsonObject);
  // As the server says that it would be, once it has.
  const wanted = expected && fieldsOf(expected, kind, description);
  const isNothing = input !== null && base !== undefined && Object.keys(patch).length === 0;

  useEffect(() => {
    let isStale = false;
    setTaken(false);
    void tried(change, base, patch).then(
      (found) => {
        if (isStale) return;
        setTaken(true);
        setPlan(found.plan);
        setExpected(found.object);
      },
      (failure: unknown) => {
        const { message, fields } = explainError(failure);
        if (isStale) return;
        setError(message);
        if (isOvertaken(failure)) void readTheirs();
        onFaults?.(
          Object.fromEntries(
            Object.entries(fields).map(([path, text]) => [path.replace(/^objects\.[^.]+\.[^.]+\./, ""), text]),
          ),
        );
      },
    );
    return () => {
      isStale = true;
    };
  }, [change, base]);
  const readTheirs = async (): Promise<void> => {
    if (object && kind.get !== undefined) setTheirs(await call(kind.get, ...change.parents, object.id));
  };

  const apply = async (): Promise<void> => {
    setBusy(true);
    try {
      onDone(await write(change, base, patch, reason));
    } catch (failure) {
      const { message, fields } = explainError(failure);
      setError(message);
      onFaults?.(fields);
      if (isOvertaken(failure)) await readTheirs();
    }
    setBusy(false);
  };
  const verb = input === null ? "Delete" : object ? "Change" : "Create";
  return (
    <Dialog title={`${verb}: ${titleOf(kind.name)}`} onClose={onClose}>
      <div class="column">
        {error !== "" && (
          <p class="notice bad" role="alert">
            {error}
          </p>
        )}
        {theirs && before ? (
          <Conflict
            theirs={concealed(fieldsOf(theirs, kind, description), before) ?? {}}
            base={concealed(before, before) ?? {}}
            mine={concealed({ ...before, ...patch }, before) ?? {}}
            onTheirs={onClose}
            onMine={() => {
              setBase(theirs);
              setTheirs(undefined);
              setError("");
            }}
          />
        ) : (
          <>
            {isNothing ? (
              <p class="muted">Nothing is otherwise than it is.</p>
            ) : (
              <Diff
                around={3}
                before={textOf(concealed(before, before))}
                after={textOf(concealed(input === null ? undefined : (wanted ?? { ...before, ...patch }), before))}
              />
            )}
            <Consequences isTaken={isTaken} plan={plan} kind={kind.name} />
            <div class="field">
              <label for="change-reason">Why</label>
              <TextInput
                id="change-reason"
                maxLength={255}
                value={reason}
                onText={setReason}
                placeholder="for the history"
              />
            </div>
            <div class="row">
              <Commands change={change} patch={patch} />
              <span class="grow" />
              <button type="button" onClick={onClose}>
                Back
              </button>
              <button
                type="button"
                class={input === null ? "danger" : "primary"}
                disabled={isBusy || isNothing}
                onClick={() => void apply()}
              >
                {input === null ? "Delete it" : "Apply"}
              </button>
            </div>
          </>
        )}
      </div>
    </Dialog>
  );
}

interface ConsequencesProps {
  readonly isTaken: boolean;
  readonly plan: Planned | undefined;
  readonly kind: string;
}

/** What else follows from the change, as the server says. */
function Consequences({ isTaken, plan, kind }: ConsequencesProps) {
  const others = plan?.changes.filter((one) => one.kind !== kind && one.action !== "unchanged") ?? [];
  return (
    <>
      {isTaken && (
        <p class="small">
          <Tag tone="good">plan</Tag> The server takes this as it is.
        </p>
      )}
      {plan?.warnings.map(({ path, message }) => (
        <p key={path} class="notice warn">
          {path}: {message}
        </p>
      ))}
      {others.map(({ action, kind: other, fields }, at) => (
        <p key={at} class="small">
          <Tag>{action}</Tag> {titleOf(other)}{" "}
          {fields.map(({ path, after }) => `${path} ${JSON.stringify(after)}`).join(", ")}
        </p>
      ))}
    </>
  );
}

interface ConflictProps {
  readonly base: JsonObject;
  readonly mine: JsonObject;
  readonly theirs: JsonObject;
  onMine(): void;
  onTheirs(): void;
}

/** Somebody was faster: both changes side by side. */
function Conflict({ base, mine, theirs, onMine, onTheirs }: ConflictProps) {
  return (
    <div class="column" role="group" aria-label="Conflict">
      <p>Somebody else has changed this since you have read it. Nothing was overwritten.</p>
      <div class="two">
        <section aria-label="What they changed">
          <h3>What they changed</h3>
          <Diff around={3} before={textOf(base)} after={textOf(theirs)} />
        </section>
        <section aria-label="What you want">
          <h3>What you want</h3>
          <Diff around={3} before={textOf(base)} after={textOf(mine)} />
        </section>
      </div>
      <div class="row">
        <span class="grow" />
        <button type="button" onClick={onTheirs}>
          Keep theirs
        </button>
        <button type="button" class="primary" onClick={onMine}>
          Look at mine on top of theirs
        </button>
      </div>
    </div>
  );
}

function Commands({ change, patch }: { readonly change: Change; readonly patch: JsonObject }) {
  const { kind, parents, object, input } = change;
  const path = pathOf(kind, parents, object?.id);
  if (input === null) return <Copies method="DELETE" path={path} />;
  const yaml = yamlOf(kind, { ...(object && { id: object.id }), ...input });
  return <Copies method={object ? "PATCH" : "POST"} path={path} body={object ? patch : input} yaml={yaml} />;
}

/** Of one of the kind, or of all of them. */
export function pathOf({ path }: Kind, parents: readonly string[], id?: string): string {
  let at = 0;
  const collection = path.replaceAll(/\{\w+\}/g, () => parents[at++] ?? "");
  return id === undefined ? collection : `${collection}/${id}`;
}

/** As documents have it, to be given a name. */
export function yamlOf({ name }: Kind, fields: JsonObject): string {
  return `objects:\n  ${name}:\n    NAME: ${JSON.stringify(fields)}\n`;
}

async function write(
  { kind, parents, object, input }: Change,
  base: ApiObject | undefined,
  patch: JsonObject,
  reason: string,
): Promise<ApiObject | undefined> {
  const options = { ...(reason !== "" && { reason }), ...(base && { ifMatch: base }), waitSeconds: 2 };
  if (input === null) return void (await call(kind.remove ?? "", ...parents, object?.id, options));
  if (!object)
    return await call(kind.create ?? "", ...parents, input, { ...options, idempotencyKey: crypto.randomUUID() });
  return await call(kind.update ?? "", ...parents, object.id, patch, options);
}

function isOvertaken(failure: unknown): boolean {
  return failure instanceof PosternError && failure.code === errorCodes.precondition_failed;
}

interface Tried {
  readonly plan?: Planned;
  /** As it would be; absent for one that is new or gone. */
  readonly object?: ApiObject;
}

/** What the server would do, as it says itself: nothing is changed. */
async function tried(
  { kind, parents, object, input }: Change,
  base: ApiObject | undefined,
  patch: JsonObject,
): Promise<Tried> {
  const options = { dry_run: true, ...(base && { ifMatch: base }) };
  if (input === null) {
    await call(kind.remove ?? "", ...parents, object?.id, options);
    return {};
  }
  if (object) return { object: await call(kind.update ?? "", ...parents, object.id, patch, options) };
  if (!plannable.has(kind.name)) return {};
  const parent = /\{(\w+)\}$/.exec(kind.path.slice(0, kind.path.lastIndexOf("}") + 1))?.[1];
  const owner = parent === undefined ? {} : { [parent]: parents.at(-1) ?? null };
  const document = { document: "console", objects: { [kind.name]: { new: { ...owner, ...input } } } };
  return { plan: (await postern.plan(document as never)) as Planned };
}

const plannable: ReadonlySet<string> = new Set(
  "bot_user ip_policy ip_policy_rule ip_restriction certificate_authority tls_certificate reserved_domain reserved_addr tunnel_group_backend failover_backend weighted_backend http_response_backend static_backend https_edge https_edge_route tls_edge tcp_edge vault secret event_destination event_subscription cloud_endpoint".split(
    " ",
  ),
);

/** The object as it is given. */
export function fieldsOf(object: ApiObject, kind: Kind, { resolve }: Description): JsonObject {
  return inputOf(object, kind.updateSchema ?? kind.createSchema ?? kind.shown, resolve) as JsonObject;
}

/** The fields that differ. */
function patchOf(before: JsonObject | undefined, input: JsonObject | null): JsonObject {
  if (!before || !input) return input ?? {};
  return Object.fromEntries(
    Object.entries(input).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])),
  );
}

/** With secrets out of sight; that one is new can be seen. */
function conceal(value: Json, known: Json | undefined, schema: Schema, description: Description): Json {
  if (schema["x-secret"] && typeof value === "string" && value !== "")
    return value === known ? "(secret)" : "(another secret)";
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const before = Array.isArray(known) ? (known as readonly Json[]) : [];
    const of = description.resolve(schema.items ?? {});
    return (value as readonly Json[]).map((one, at) => conceal(one, before[at], of, description));
  }
  const before = (typeof known === "object" && known !== null ? known : {}) as JsonObject;
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([name, one]) => {
      const field =
        schema.properties?.[name] ??
        (typeof schema.additionalProperties === "object" ? schema.additionalProperties : {});
      return [name, conceal(one, before[name], description.resolve(field), description)];
    }),
  );
}

function textOf(fields: JsonObject | undefined): string {
  return fields ? linesOf(fields, "").join("\n") : "";
}

/** As YAML would have it, near enough to be read. */
function linesOf(value: Json, indent: string): string[] {
  if (typeof value !== "object" || value === null) return [`${indent}${JSON.stringify(value)}`];
  const entries = Array.isArray(value)
    ? (value as readonly Json[]).map((one) => ["-", one] as const)
    : Object.entries(value as JsonObject).map(([name, one]) => [`${name}:`, one] as const);
  return entries.flatMap(([name, one]) => {
    const isEmpty = typeof one === "object" && one !== null && Object.keys(one).length === 0;
    if (typeof one !== "object" || one === null || isEmpty) return [`${indent}${name} ${JSON.stringify(one)}`];
    return [`${indent}${name}`, ...linesOf(one, `${indent}  `)];
  });
}
