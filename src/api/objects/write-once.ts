/** Writes that an `Idempotency-Key` makes happen once: the answer is stored in the same commit. */
import { createHash } from "node:crypto";
import type { Draft, Store } from "../../storage/store.ts";
import { writeContext } from "./write-context.ts";
import type { Call, Reply } from "../operation/call.ts";
import { missing, scopeFor } from "../operation/missing-scope.ts";
import { isVisible } from "../operation/scope.ts";
import { idempotencyKey } from "./preconditions.ts";

/** Runs `work` as a write and answers with `reply`, or with what an earlier call of the same key answered. */
export async function writeOnce<T>(
  call: Call,
  store: Store,
  work: (draft: Draft) => T,
  reply: (result: T, revision: number) => Reply,
): Promise<Reply> {
  const key = idempotencyKey(call);
  if (key === undefined) {
    const { result, revision } = await store.write(writeContext(call), work);
    return reply(result, revision);
  }
  const written = await store.write(writeContext(call), work, {
    key,
    fingerprint: requestHash(call),
    answer: (result, revision) => JSON.stringify(reply(result, revision)),
  });
  if (written.replayed !== undefined) return replayed(call, store, JSON.parse(written.replayed) as Reply);
  return reply(written.result, written.revision);
}

/** The answer of then, unless it shows a limited key what it may not see any more. */
function replayed({ operation, principal }: Call, store: Pick<Store, "get">, reply: Reply): Reply {
  const { scope, accountId } = principal;
  const { resource } = operation;
  if (!scope || !resource || typeof reply.body !== "string") return reply;
  const { id, metadata } = JSON.parse(reply.body) as { readonly id?: string; readonly metadata?: unknown };
  const shown = { kind: resource.name, doc: { metadata } };
  const object = store.get(accountId, resource.name, id ?? "") ?? shown;
  if (!isVisible(scope, object)) throw missing(operation, scopeFor(scope, object));
  return reply;
}

/**
 * What makes two requests the same one. Answers are kept as they were given: one that was given to another key may show
 * more than a limited one may see.
 */
function requestHash(call: Call): string {
  const { principal } = call;
  const asked: unknown[] = [call.operation.id, call.parameters, call.body];
  if (principal.scope) asked.push(principal.id);
  if (call.query.size > 0) asked.push(call.query.toString());
  return createHash("sha256").update(JSON.stringify(asked)).digest("hex");
}
