/** Context and judge of a call's writes. */
import type { Judge, WriteContext } from "../../storage/store.ts";
import { readHeader } from "../operation/call.ts";
import type { Call } from "../operation/call.ts";
import { readReason } from "../operation/reason.ts";
import { seesEverything } from "../operation/scope.ts";

/** Throws `Refusal` if the reason cannot be stored unchanged. */
export function writeContext(call: Call): WriteContext {
  const { accountId, id } = call.principal;
  const reason = readReason(readHeader(call.request, "postern-reason"));
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
 * Returns the judge of the call's writes. Undefined for keys that are not limited to some objects.
 * @throws Error if the key is limited and the call has no judge, because then nothing may be written
 */
export function judgeOf({ operation, principal, judge }: Call): Judge | undefined {
  if (judge || seesEverything(principal.scope)) return judge;
  throw new Error(`${operation.id}: the key's scopes cover only some objects, and this operation has no scope check`);
}
