/** Finds objects that another node has just created, so that the response is not 404. */
import { Refusal } from "../../lib/errors.ts";
import type { Store } from "../../storage/store.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";

/** Returns the operation with one retry after a refresh of the store if it does not find an object. */
export function retryAfterRefresh(operation: Operation, store: Pick<Store, "node" | "refresh" | "commits">): Operation {
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
