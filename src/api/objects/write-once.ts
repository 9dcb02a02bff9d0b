/** Writes that an `Idempotency-Key` makes happen once: the answer is stored in the same commit. */
import { createHash } from "node:crypto";
import type { Draft, Store } from "../../storage/store.ts";
import { writeContext } from "../operation/call.ts";
import type { Call, Reply } from "../operation/call.ts";
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
  if (written.replayed !== undefined) return JSON.parse(written.replayed) as Reply;
  return reply(written.result, written.revision);
}

/** What makes two requests the same one. */
function requestHash(call: Call): string {
  const asked: unknown[] = [call.operation.id, call.parameters, call.body];
  if (call.query.size > 0) asked.push(call.query.toString());
  return createHash("sha256").update(JSON.stringify(asked)).digest("hex");
}
