/** Dry runs of writes. */
import type { Change, Draft, Store } from "../../storage/store.ts";
import { resources } from "../../resources/index.ts";
import type { Call } from "../operation/call.ts";
import { flagIn } from "./page-query.ts";
import { renderQuotedField } from "./quoted-field.ts";
import { judgeOf } from "./write-context.ts";

export const dryRunQuery = ["dry_run"] as const;

/** Whether the call is a dry run. Throws `Refusal`. */
export function isDryRun(call: Call): boolean {
  return flagIn(call, "dry_run");
}

interface Rehearsed<T> {
  readonly result: T;
  /** `Postern-Also`: the other objects that would change. */
  readonly also: readonly string[];
}

/**
 * Runs `work` and discards the changes.
 * @param idOf returns the id of the written object
 */
export function rehearseWork<T>(
  store: Pick<Store, "rehearse">,
  call: Call,
  work: (draft: Draft) => T,
  idOf: (result: T) => string,
): Rehearsed<T> {
  const { result, changes } = store.rehearse(
    (draft) => ({ result: work(draft), changes: draft.changes() }),
    judgeOf(call),
  );
  return { result, also: makeAlsoHeaders(changes, idOf(result)) };
}

/** Maximum number of other objects in a response. */
const maxLines = 10;

function makeAlsoHeaders(changes: readonly Change[], id: string): readonly string[] {
  const otherChanges = changes.filter((one) => one.id !== id && shown.has(one.kind));
  const lines = otherChanges.slice(0, maxLines).map(lineOf);
  const rest = otherChanges.length - lines.length;
  return [...lines, ...(rest > 0 ? [`and ${rest} more`] : [])].flatMap((line) => [
    "postern-also",
    renderQuotedField(line),
  ]);
}

const shown: ReadonlySet<string> = new Set(resources.map(({ name }) => name));

/** A new object has no id yet, so its name is shown if it has one. */
function lineOf({ kind, id, before, after }: Change): string {
  if (before) return `${after ? "update" : "delete"} ${kind} ${id}`;
  const name = after?.doc["domain"] ?? after?.doc["addr"];
  return typeof name === "string" ? `create ${kind} ${name}` : `create ${kind}`;
}
