/** History of changes: author, time, reason and old values. Rolls back after a rehearsal. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ObjectChange, Revision, Rollback } from "../../../sdk/src/index.ts";
import { apiCommand } from "../ui/shell.ts";
import { Copy, Dialog, Tag, Time } from "../ui/elements.tsx";
import { authorText, loadAuthors } from "./history/authors.ts";
import { daysOf } from "./history/entries.ts";
import type { HistoryEntry } from "./history/entries.ts";
import { isUndoable, namesIn, sentenceOf } from "./history/sentence.ts";
import type { Names } from "./history/sentence.ts";
import "./history/history.css";
import { atRevision, explainError, postern } from "./api.ts";
import type { Json } from "./api.ts";
import { textOf } from "./field-text.ts";
import { titleOf } from "./description.ts";
import { configurationChanges } from "./live-changes.ts";
import { Failed, Head, Id } from "./parts.tsx";
import { goTo, place } from "./router.ts";
import { useData } from "./use-data.ts";

export function History() {
  const [objectId] = place.value.rest;
  const [more, setMore] = useState<{ readonly items: readonly Revision[]; readonly next: string | undefined }>();
  const first = useData(() => {
    setMore(undefined);
    return postern.revisions.list({ limit: 50, ...(objectId !== undefined && { object_id: objectId }) }).page();
  }, [objectId, configurationChanges.value]);
  const authors = useData(loadAuthors, [configurationChanges.value]);
  const edges = useData(loadEdgeNames, [configurationChanges.value]);
  const [rolled, setRolled] = useState<Undone>();
  const next = more ? more.next : first.value?.nextBeforeId;
  const all = [...(first.value?.items ?? []), ...(more?.items ?? [])];
  const names = new Map([...(edges.value ?? []), ...namesIn(all)]);
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
  const newest = objectId === undefined ? all.find((one) => isUndoable([one]))?.revision : undefined;
  return (
    <section class="column" aria-label="History">
      <Head
        title="History"
        doc="Every change: who made it, when and why. You can undo it. The history cannot be edited."
      >
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
      {daysOf(all).map(({ date, entries }) => (
        <section key={date} class="column" aria-label={date}>
          <h2 class="day">{date}</h2>
          <ol class="revisions">
            {entries.map((entry) => (
              <Item
                key={entry.revisions[0].revision}
                entry={entry}
                newest={newest}
                names={names}
                author={authorText(entry.revisions[0].principal, authors.value ?? new Map())}
                onRollback={setRolled}
              />
            ))}
          </ol>
        </section>
      ))}
      {next !== undefined && (
        <button type="button" onClick={() => void load()}>
          Show earlier changes
        </button>
      )}
      {rolled !== undefined && <Back {...rolled} onClose={() => setRolled(undefined)} />}
    </section>
  );
}

/** Returns the names of HTTPS edges, which changes of their routes do not contain. */
async function loadEdgeNames(): Promise<readonly (readonly [id: string, name: string])[]> {
  const { items } = await postern.edges.https.list({ limit: 100 }).page();
  return items.map(({ id, hostports }) => [id, hostports.join(", ") || id] as const);
}

interface ItemProps {
  readonly entry: HistoryEntry;
  /** The last revision that changed the configuration; undefined if only some are shown. */
  readonly newest: number | undefined;
  readonly names: Names;
  readonly author: string;
  onRollback(undone: Undone): void;
}

function Item({ entry: { revisions }, newest, names, author, onRollback }: ItemProps) {
  const [{ created_at, principal, source, reason, revision }] = revisions;
  const [isOpen, setOpen] = useState(false);
  const isLast = newest === revision;
  const before = Math.min(...revisions.map((one) => one.revision)) - 1;
  return (
    <li class="panel entry">
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span class="entry-what">
            <strong>{sentenceOf(revisions, names)}</strong> {reason !== "" && <q>{reason}</q>}
          </span>
          <span class="muted small">
            <Time at={created_at} /> by <span title={principal}>{author}</span>
            {source !== null && ` from ${source}`}
            {", revision "}
            <span>{revision}</span>
          </span>
        </summary>
        <div class="inside column">
          {revisions.map((one) => (
            <One key={one.revision} revision={one} isOpen={isOpen} isLast={isLast} onRollback={onRollback} />
          ))}
        </div>
      </details>
      {isUndoable(revisions) && (
        <button type="button" class="undo" onClick={() => onRollback({ revision: before, undoes: revision, isLast })}>
          Undo …
        </button>
      )}
    </li>
  );
}

interface OneProps {
  readonly revision: Revision;
  readonly isOpen: boolean;
  readonly isLast: boolean;
  onRollback(undone: Undone): void;
}

/** The changes of a revision, and what to do with it. */
function One({ revision: { revision, operation, changes }, isOpen, isLast, onRollback }: OneProps) {
  return (
    <>
      <p class="muted small">{`Revision ${revision}, by the operation ${operation}`}</p>
      {isOpen && <Changes changes={changes} />}
      <div class="row">
        <button
          type="button"
          onClick={() => {
            atRevision.value = revision;
            goTo("edges");
          }}
        >
          Show the state at this revision
        </button>
        {!isLast && (
          <button type="button" onClick={() => onRollback({ revision })}>
            Go back to this …
          </button>
        )}
        <Copy text={apiCommand("POST", `/revisions/${revision}/rollback`)} kind="tiny">
          CLI
        </Copy>
      </div>
    </>
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

interface Undone {
  /** The revision to go back to. */
  readonly revision: number;
  /** The revision that this undoes. */
  readonly undoes?: number;
  /** Whether nothing has changed since. */
  readonly isLast?: boolean;
}

interface BackProps extends Undone {
  /** @param isDone whether the rollback was made */
  onClose(isDone: boolean): void;
}

/** Previews a rollback. */
export function Back({ revision, undoes, isLast = false, onClose }: BackProps) {
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
    <Dialog
      title={undoes === undefined ? `Back to revision ${revision}` : `Undo revision ${undoes}`}
      onClose={() => onClose(done !== undefined)}
    >
      <div class="column">
        <Failed error={error || rehearsal.error} />
        {done ? (
          <p class="notice good" ref={told} tabIndex={-1} role="status">
            Done, as revision {done.revision}.
          </p>
        ) : (
          <p>
            {undoes !== undefined && !isLast && "This also undoes every later change. "}
            These changes would be made. API keys and agent tokens stay unchanged.
          </p>
        )}
        {shown && <Changes changes={shown.changes} />}
        <div class="row actions">
          <span class="grow" />
          <button type="button" onClick={() => onClose(done !== undefined)}>
            {done ? "Close" : "Cancel"}
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
