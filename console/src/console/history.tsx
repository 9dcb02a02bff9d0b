/** History of changes: author, time, reason and old values. Rolls back after a rehearsal. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ObjectChange, Revision, Rollback } from "../../../sdk/src/index.ts";
import { apiCommand } from "../ui/shell.ts";
import { Copy, Dialog, Tag, Time } from "../ui/elements.tsx";
import { atRevision, explainError, postern } from "./api.ts";
import type { Json } from "./api.ts";
import { textOf } from "./field-text.ts";
import { titleOf } from "./description.ts";
import { configurationChanges } from "./live.ts";
import { Failed, Head, Id } from "./parts.tsx";
import { go, place } from "./router.ts";
import { useData } from "./use-data.ts";

export function History() {
  const [objectId] = place.value.rest;
  const [more, setMore] = useState<{ readonly items: readonly Revision[]; readonly next: string | undefined }>();
  const first = useData(() => {
    setMore(undefined);
    return postern.revisions.list({ limit: 50, ...(objectId !== undefined && { object_id: objectId }) }).page();
  }, [objectId, configurationChanges.value]);
  const [rolled, setRolled] = useState<number>();
  const next = more ? more.next : first.value?.nextBeforeId;
  const all = [...(first.value?.items ?? []), ...(more?.items ?? [])];
  const load = async (): Promise<void> => {
    const page = await postern.revisions
      .list({
        limit: 50,
        ...(next !== undefined && { before_id: next }),
        ...(objectId !== undefined && { object_id: objectId }),
      })
      .page();
    setMore({ items: [...(more?.items ?? []), ...page.items], next: page.nextBeforeId });
  };
  return (
    <section class="column" aria-label="History">
      <Head title="History" doc="Every write, with its author, time, reason and changes. The history cannot be edited.">
        {objectId !== undefined && (
          <>
            <Id id={objectId} />
            <a class="button" href="#/history">
              All
            </a>
          </>
        )}
      </Head>
      <Failed error={first.error} again={first.again} />
      {first.value && all.length === 0 && (
        <div class="empty">
          <p>No changes yet. Every change appears here, and you can undo it.</p>
          <a class="button primary" href="#/publish">
            Publish a service
          </a>
        </div>
      )}
      <ol class="revisions">
        {all.map((one, at) => (
          <Row key={one.revision} revision={one} isLast={at === 0 && objectId === undefined} onRollback={setRolled} />
        ))}
      </ol>
      {next !== undefined && (
        <button type="button" onClick={() => void load()}>
          Earlier ones
        </button>
      )}
      {rolled !== undefined && <Back revision={rolled} onClose={() => setRolled(undefined)} />}
    </section>
  );
}

interface RowProps {
  readonly revision: Revision;
  /** Whether nothing has changed since. */
  readonly isLast: boolean;
  onRollback(revision: number): void;
}

function Row({ revision, isLast, onRollback }: RowProps) {
  const { created_at, principal, source, operation, reason, changes } = revision;
  const [isOpen, setOpen] = useState(false);
  return (
    <li class="panel">
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span class="tag">{revision.revision}</span> <strong>{operation}</strong>{" "}
          {changes.slice(0, 3).map((one) => (
            <Tag key={one.id} tone={tones[one.action]}>{`${one.action} ${titleOf(one.kind)}`}</Tag>
          ))}{" "}
          {reason !== "" && <q>{reason}</q>}{" "}
          <span class="muted small">
            <Time at={created_at} /> by {principal}
            {source !== null && ` from ${source}`}
          </span>
        </summary>
        <div class="inside column">
          {isOpen && <Changes changes={changes} />}
          <div class="row">
            <button
              type="button"
              onClick={() => {
                atRevision.value = revision.revision;
                go("edges");
              }}
            >
              Show the state at this revision
            </button>
            {isLast ? (
              <button type="button" class="primary" onClick={() => onRollback(revision.revision - 1)}>
                Undo this …
              </button>
            ) : (
              <button type="button" onClick={() => onRollback(revision.revision)}>
                Go back to this …
              </button>
            )}
            <Copy text={apiCommand("POST", `/revisions/${revision.revision}/rollback`)} kind="tiny">
              CLI
            </Copy>
          </div>
        </div>
      </details>
    </li>
  );
}

const tones = { create: "good", update: "info", delete: "bad", unchanged: "" } as const;

export function Changes({ changes }: { readonly changes: readonly ObjectChange[] }) {
  if (changes.length === 0) return <p class="muted">No other changes.</p>;
  return (
    <>
      {changes.map(({ action, kind, id, fields }) => (
        <section key={`${kind}${id}`} aria-label={`${action} ${kind}`}>
          <h3>
            <Tag tone={tones[action]}>{action}</Tag> {titleOf(kind)} <Id id={id} />
          </h3>
          <div class="diff">
            {fields.flatMap(({ path, before, after }) => [
              ...linesOf(path, before as Json).map((text) => <div key={`-${text}`} class="removed">{`- ${text}`}</div>),
              ...linesOf(path, after as Json).map((text) => <div key={`+${text}`} class="added">{`+ ${text}`}</div>),
            ])}
          </div>
        </section>
      ))}
    </>
  );
}

/** Formats a field of a side that contains it, with nested values below. */
function linesOf(path: string, value: Json | undefined): readonly string[] {
  return value === null || value === undefined ? [] : textOf({ [path]: value }).split("\n");
}

interface BackProps {
  readonly revision: number;
  /** @param isDone whether the rollback was made */
  onClose(isDone: boolean): void;
}

/** Previews a rollback. */
export function Back({ revision, onClose }: BackProps) {
  const rehearsal = useData(() => postern.revisions.rollback(String(revision), { dry_run: true }), [revision]);
  const [done, setDone] = useState<Rollback>();
  const [error, setError] = useState("");
  const shown = done ?? rehearsal.value;
  const told = useRef<HTMLParagraphElement>(null);
  // The pressed button has disappeared, and the result is above the changed list.
  useLayoutEffect(() => {
    if (!done) return;
    told.current?.closest("dialog")?.scrollTo(0, 0);
    told.current?.focus({ preventScroll: true });
  }, [done]);
  const apply = async (): Promise<void> => {
    try {
      setDone(
        await postern.revisions.rollback(String(revision), { reason: `back to revision ${revision}`, waitSeconds: 2 }),
      );
    } catch (failure) {
      setError(explainError(failure).message);
    }
  };
  return (
    <Dialog title={`Back to revision ${revision}`} onClose={() => onClose(done !== undefined)}>
      <div class="column">
        <Failed error={error || rehearsal.error} />
        {done ? (
          <p class="notice good" ref={told} tabIndex={-1} role="status">
            Done, as revision {done.revision}.
          </p>
        ) : (
          <p>These changes would be made. API keys and agent tokens stay unchanged.</p>
        )}
        {shown && <Changes changes={shown.changes} />}
        <div class="row actions">
          <span class="grow" />
          <button type="button" onClick={() => onClose(done !== undefined)}>
            {done ? "Close" : "Leave it"}
          </button>
          {!done && (
            <button
              type="button"
              class="primary"
              disabled={!rehearsal.value || rehearsal.value.changes.length === 0}
              onClick={() => void apply()}
            >
              Go back
            </button>
          )}
        </div>
      </div>
    </Dialog>
  );
}
