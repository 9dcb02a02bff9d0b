/** Records spans for the writes of the API and for background work. */
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { SpanRecorder } from "../../lib/span-recorder.ts";
import type { Call, Operation, Reply } from "./call.ts";

/** @param recorder without one, the operations are returned as they are */
export function recordWrites(
  operations: readonly Operation[],
  recorder: SpanRecorder | undefined,
  clock: Clock,
): readonly Operation[] {
  if (recorder === undefined) return operations;
  return operations.map((operation) =>
    operation.method === "GET" ? operation : { ...operation, run: recordSpans(operation, recorder, clock) },
  );
}

function recordSpans({ id, method, path, run }: Operation, recorder: SpanRecorder, clock: Clock): Operation["run"] {
  return async (call: Call): Promise<Reply> => {
    const startedAt = clock.now();
    let status = 500;
    let error: string | undefined;
    try {
      const reply = await run(call);
      ({ status } = reply);
      return reply;
    } catch (thrown) {
      if (thrown instanceof Refusal) ({ status } = thrown);
      error = thrown instanceof Refusal ? thrown.reason : "internal_error";
      throw thrown;
    } finally {
      const { traceparent } = call.request.headers;
      recorder.record({
        name: `${method} ${path}`,
        kind: "server",
        startedAt,
        endedAt: clock.now(),
        error: status >= 500 ? error : undefined,
        attributes: {
          "http.request.method": method,
          "http.route": path,
          "http.response.status_code": status,
          "error.type": error,
          "postern.operation": id,
          "postern.request.id": call.operationId,
          "postern.account.id": call.principal.accountId || undefined,
        },
        traceparent: typeof traceparent === "string" ? traceparent : undefined,
      });
    }
  };
}

/**
 * Does background work, and records a span if it changed something or failed.
 * @param work returns how many objects it changed
 */
export async function recordJob(
  recorder: SpanRecorder | undefined,
  clock: Clock,
  name: string,
  work: () => Promise<number>,
): Promise<void> {
  const startedAt = clock.now();
  let changed = 0;
  let error: string | undefined;
  try {
    changed = await work();
  } catch (thrown) {
    error = thrown instanceof Error ? thrown.message : String(thrown);
    throw thrown;
  } finally {
    if (changed > 0 || error !== undefined) {
      const attributes = { "postern.changed_objects": changed };
      recorder?.record({ name, kind: "internal", startedAt, endedAt: clock.now(), error, attributes });
    }
  }
}
