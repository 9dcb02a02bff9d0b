/** What another node has made a moment ago is found here, too: nobody is told that it does not exist. */
import { Refusal } from "../../lib/errors.ts";
import type { Store } from "../../storage/store.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";

/** The operation, run again on what there is by now where it does not find something. */
export function refreshed(operation: Operation, store: Pick<Store, "node" | "refresh" | "commits">): Operation {
  if (operation.open) return operation;
  const again = async (call: Call, refusal: Refusal, before: number): Promise<Reply> => {
    await store.refresh().catch(() => undefined);
    if (store.commits === before) throw refusal;
    return await operation.run(call);
  };
  return {
    ...operation,
    run(call) {
      if (!store.node) return operation.run(call);
      const before = store.commits;
      const otherwise = (error: unknown): Promise<Reply> => {
        if (error instanceof Refusal && error.reason === "not_found") return again(call, error, before);
        throw error;
      };
      try {
        const reply = operation.run(call);
        return reply instanceof Promise ? reply.catch(otherwise) : reply;
      } catch (error) {
        return otherwise(error);
      }
    },
  };
}
