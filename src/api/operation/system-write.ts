import type { Clock } from "../../lib/clock.ts";
import { newId } from "../../lib/ids.ts";
import type { WriteContext } from "../../storage/store.ts";

/** A write that the server makes without a client's request. */
export function systemWrite(accountId: string, operation: string, clock: Clock): WriteContext {
  return { principal: { accountId, id: "system" }, operation, operationId: newId("op", clock.now()) };
}
