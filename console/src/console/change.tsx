/** What is going to change, seen before it does: as a diff, and as commands that do the same. */
import { useEffect, useState } from "preact/hooks";
import { PosternError, errorCodes } from "../../../sdk/src/index.ts";
import { Copy, Dialog, Tag, TextInput } from "../ui/elements.tsx";
import { Diff } from "../ui/diff.tsx";
import { quoted } from "../ui/shell.ts";
import { call, explainError, postern } from "./api.ts";
import type { ApiObject, Json, JsonObject } from "./api.ts";
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
  const isNothing = input !== null && base !== undefined && Object.keys(patch).length === 0;

  useEffect(() => {
    let isStale = false;
    void planOf(change).then(
      (found) => !isStale && setPlan(found),
      (failure: unknown) => {
        const { message, fields } = explainError(failure);
        if (isStale) return;
        setError(message);
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
  }, [change]);

  const apply = async (): Promise<void> => {
    setBusy(true);
    try {
      onDone(await write(change, base, patch, reason));
    } catch (failure) {
      const { message, fields } = explainError(failure);
      setError(message);
      onFaults?.(fields);
      const isOvertaken = failure instanceof PosternError && failure.code === errorCodes.precondition_failed;
      if (isOvertaken && object && kind.get !== undefined)
        setTheirs(await call(kind.get, ...change.parents, object.id));
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
                after={textOf(concealed(input === null ? undefined : { ...before, ...patch }, before))}
              />
            )}
            <Consequences plan={plan} kind={kind.name} />
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

/** What else follows from the change, as the server says. */
function Consequences({ plan, kind }: { readonly plan: Planned | undefined; readonly kind: string }) {
  const others = plan?.changes.filter((one) => one.kind !== kind && one.action !== "unchanged") ?? [];
  return (
    <>
      {plan && (
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
  let at = 0;
  const collection = kind.path.replaceAll(/\{\w+\}/g, () => parents[at++] ?? "");
  const path = object ? `${collection}/${object.id}` : collection;
  const method = input === null ? "DELETE" : object ? "PATCH" : "POST";
  const body = input === null ? undefined : JSON.stringify(object ? patch : input);
  const curl = [
    `curl -X ${method} ${location.origin}${path}`,
    `-H "Authorization: Bearer $POSTERN_API_KEY" -H 'Service-Version: 2'`,
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json' -d ${quoted(body)}`]),
  ].join(" ");
  const cli = `postern api ${method} ${path}${body === undefined ? "" : ` ${quoted(body)}`}`;
  const yaml = `objects:\n  ${kind.name}:\n    NAME: ${JSON.stringify({ ...(object && { id: object.id }), ...input })}\n`;
  return (
    <>
      <Copy text={curl} kind="tiny">
        Copy as curl
      </Copy>
      <Copy text={cli} kind="tiny">
        CLI
      </Copy>
      {input !== null && (
        <Copy text={yaml} kind="tiny">
          YAML
        </Copy>
      )}
    </>
  );
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

/** What the server would do; undefined for what no document has, such as keys. */
async function planOf({ kind, parents, object, input }: Change): Promise<Planned | undefined> {
  // A document says what an object is, not what is not known of it.
  if (input === null || object || !plannable.has(kind.name)) return undefined;
  const parent = /\{(\w+)\}$/.exec(kind.path.slice(0, kind.path.lastIndexOf("}") + 1))?.[1];
  const owner = parent === undefined ? {} : { [parent]: parents.at(-1) ?? null };
  const document = { document: "console", objects: { [kind.name]: { new: { ...owner, ...input } } } };
  return (await postern.plan(document as never)) as Planned;
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
