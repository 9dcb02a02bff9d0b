/** Makes writes with an `Idempotency-Key` happen once. The reply is stored in the same commit. */
import { createHash } from "node:crypto";
import type { Draft, Store } from "../../storage/store.ts";
import { writeContext } from "./write-context.ts";
import type { Call, Reply } from "../operation/call.ts";
import { refuseMissingScope, scopeFor } from "../operation/missing-scope.ts";
import { isVisible } from "../operation/scope.ts";
import { idempotencyKey } from "./preconditions.ts";

/** Runs `work` as a write and returns `reply`, or the stored reply to an earlier call with the same key. */
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
  if (written.replayed !== undefined) return replayReply(call, store, JSON.parse(written.replayed) as Reply);
  return reply(written.result, written.revision);
}

/** Returns the stored reply, unless it contains an object that a limited key may no longer see. */
function replayReply({ operation, principal }: Call, store: Pick<Store, "get">, reply: Reply): Reply {
  const { scope, accountId } = principal;
  const { resource } = operation;
  if (!scope || !resource || typeof reply.body !== "string") return reply;
  const { id, metadata } = JSON.parse(reply.body) as { readonly id?: string; readonly metadata?: unknown };
  const shown = { kind: resource.name, doc: { metadata } };
  const object = store.get(accountId, resource.name, id ?? "") ?? shown;
  if (!isVisible(scope, object)) throw refuseMissingScope(operation, scopeFor(scope, object));
  return reply;
}

/**
 * Returns a hash that identifies equal requests. It includes a limited key, because the stored reply to another key may
 * show more than this one may see.
 */
function requestHash(call: Call): string {
  const { principal } = call;
  const asked: unknown[] = [call.operation.id, call.parameters, call.body];
  if (principal.scope) asked.push(principal.id);
  if (call.query.size > 0) asked.push(call.query.toString());
  return createHash("sha256").update(JSON.stringify(asked)).digest("hex");
}
