/** Previews a change: as a diff, and as equivalent commands. */
import { useEffect, useState } from "preact/hooks";
import { Dialog, Failure, Tag, TextInput } from "../ui/elements.tsx";
import { Diff } from "../ui/diff.tsx";
import { callOperation, explainError } from "./api.ts";
import type { ApiObject, JsonObject } from "./api.ts";
import { asDocument, documentOf } from "./as-document.ts";
import { TryOnTraffic } from "./backtest.tsx";
import { Copies } from "./copies.tsx";
import type { Description, Kind } from "./description.ts";
import { titleOf } from "./description.ts";
import { concealSecrets, textOf } from "./field-text.ts";
import { fieldsOf, isOvertaken, newFieldsOf, patchOf, previewWrite, writeObject } from "./writes.ts";
import type { Change, Tried } from "./writes.ts";

interface ReviewProps {
  readonly change: Change;
  readonly description: Description;
  onFaults?(faults: Readonly<Record<string, string>>): void;
  /** @param answer the written object, with values that are shown once; undefined after a deletion */
  onDone(answer: ApiObject | undefined): void;
  onClose(): void;
}

export function Review({ change, description, onFaults, onDone, onClose }: ReviewProps) {
  const { kind, object, input } = change;
  /** Result of the rehearsal at the server. */
  const [answer, setAnswer] = useState<Tried>();
  const [error, setError] = useState("");
  const [theirs, setTheirs] = useState<ApiObject>();
  const [base, setBase] = useState(object);
  const [reason, setReason] = useState("");
  const [isBusy, setBusy] = useState(false);
  const before = base ? fieldsOf(base, kind, description) : undefined;
  // The user's change stays the same, even if other users change the object in the meantime.
  const patch = patchOf(object && fieldsOf(object, kind, description), input);
  const schema = (object ? kind.updateSchema : kind.createSchema) ?? kind.shown;
  const concealed = (fields: JsonObject | undefined, known: JsonObject | undefined): JsonObject | undefined =>
    fields && (concealSecrets(fields, known, schema, description) as JsonObject);
  const expected = answer?.object;
  const wanted =
    expected &&
    (object ? fieldsOf(expected, kind, description) : newFieldsOf(expected, input ?? {}, kind, description));
  const isNothing = input !== null && base !== undefined && Object.keys(patch).length === 0;

  useEffect(() => {
    let isStale = false;
    setAnswer(undefined);
    void previewWrite(change, base, patch).then(
      (found) => !isStale && setAnswer(found),
      (failure: unknown) => {
        const { message, fields } = explainError(failure);
        if (isStale) return;
        setError(message);
        if (isOvertaken(failure)) void readTheirs();
        onFaults?.(fields);
      },
    );
    return () => {
      isStale = true;
    };
  }, [change, base]);
  const readTheirs = async (): Promise<void> => {
    if (object && kind.get !== undefined) setTheirs(await callOperation(kind.get, ...change.parents, object.id));
  };

  const apply = async (): Promise<void> => {
    setBusy(true);
    try {
      onDone(await writeObject(change, base, patch, reason));
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
        <Failure text={error} />
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
              <p class="muted">No changes.</p>
            ) : (
              <Diff
                around={3}
                before={textOf(concealed(before, before))}
                after={textOf(concealed(input === null ? undefined : (wanted ?? { ...before, ...patch }), before))}
              />
            )}
            <Consequences answer={answer} />
            {answer && input !== null && !isNothing && affectsTraffic.has(kind.name) && (
              <TryOnTraffic
                document={documentOf(kind, change.parents, object, { ...before, ...patch }, description)}
                description={description}
              />
            )}
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
            <div class="row actions">
              <Commands change={change} patch={patch} description={description} />
              <span class="grow" />
              <button type="button" onClick={onClose}>
                Back
              </button>
              <button
                type="button"
                class={input === null ? "danger" : "primary"}
                disabled={isBusy || isNothing || !answer}
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

/** Kinds whose changes are worth trying on captured requests. */
const affectsTraffic: ReadonlySet<string> = new Set([
  "https_edge",
  "https_edge_route",
  "cloud_endpoint",
  "ip_policy_rule",
  "ip_restriction",
  "country_restriction",
  "static_backend",
  "tunnel_group_backend",
  "failover_backend",
  "weighted_backend",
  "http_response_backend",
]);

/** Shows the further effects of the change that the server reports. */
function Consequences({ answer }: { readonly answer: Tried | undefined }) {
  if (!answer) return null;
  return (
    <>
      <p class="small">
        <Tag tone="good">plan</Tag> The server accepts this change.
      </p>
      {answer.warnings.map((text) => (
        <p key={text} class="notice warn">
          {text}
        </p>
      ))}
      {answer.also.length > 0 && (
        <div class="notice warn">
          <p>This change also affects:</p>
          <ul class="also">
            {answer.also.map((text) => (
              <li key={text}>{renderConsequence(text)}</li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}

/** Formats `create reserved_domain shop.example` for people. */
function renderConsequence(text: string) {
  const [, action, kind, rest = ""] = /^(create|update|delete) (\w+) ?(.*)$/.exec(text) ?? [];
  if (action === undefined || kind === undefined) return text;
  return (
    <>
      {action} {titleOf(kind)} <span class="mono">{rest}</span>
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

/** Shows both changes side by side after a conflict. */
function Conflict({ base, mine, theirs, onMine, onTheirs }: ConflictProps) {
  return (
    <div class="column" role="group" aria-label="Conflict">
      <p>Someone else changed this object after you opened it. Your change was not saved.</p>
      <div class="two">
        <section aria-label="Their changes">
          <h3>Their changes</h3>
          <Diff around={3} before={textOf(base)} after={textOf(theirs)} />
        </section>
        <section aria-label="Your changes">
          <h3>Your changes</h3>
          <Diff around={3} before={textOf(base)} after={textOf(mine)} />
        </section>
      </div>
      <div class="row">
        <span class="grow" />
        <button type="button" onClick={onTheirs}>
          Keep theirs
        </button>
        <button type="button" class="primary" onClick={onMine}>
          Apply my changes to their version
        </button>
      </div>
    </div>
  );
}

interface CommandsProps {
  readonly change: Change;
  readonly patch: JsonObject;
  readonly description: Description;
}

function Commands({ change, patch, description }: CommandsProps) {
  const { kind, parents, object, input } = change;
  const path = pathOf(kind, parents, object?.id);
  if (input === null) return <Copies method="DELETE" path={path} />;
  const yaml = asDocument(kind, parents, object, input, description);
  return (
    <Copies
      method={object ? "PATCH" : "POST"}
      path={path}
      body={object ? patch : input}
      {...(yaml !== undefined && { yaml })}
    />
  );
}

/** Returns the path of one object, or of the kind's list. */
export function pathOf({ path }: Kind, parents: readonly string[], id?: string): string {
  let at = 0;
  const collection = path.replaceAll(/\{\w+\}/g, () => parents[at++] ?? "");
  return id === undefined ? collection : `${collection}/${id}`;
}
