/** What a call's writes are stored with, and judged by. */
import type { Judge, WriteContext } from "../../storage/store.ts";
import { header } from "../operation/call.ts";
import type { Call } from "../operation/call.ts";
import { readReason } from "../operation/reason.ts";
import { seesEverything } from "../operation/scope.ts";

/** Throws `Refusal` for a reason that cannot be kept as it was given. */
export function writeContext(call: Call): WriteContext {
  const { accountId, id } = call.principal;
  const reason = readReason(header(call.request, "postern-reason"));
  const judge = judgeOf(call);
  return {
    principal: { accountId, id, source: call.request.socket.remoteAddress ?? "" },
    operation: call.operation.id,
    operationId: call.operationId,
    ...(reason !== undefined && { reason }),
    ...(judge && { judge }),
  };
}

/**
 * Judges what the call writes; undefined for keys that are not limited to some objects.
 * @throws Error for a key that is, on a call that was not given a judge: nothing may be written then
 */
export function judgeOf({ operation, principal, judge }: Call): Judge | undefined {
  if (judge || seesEverything(principal.scope)) return judge;
  throw new Error(`${operation.id}: the key's scopes cover only some objects, and this operation has no scope check`);
}
