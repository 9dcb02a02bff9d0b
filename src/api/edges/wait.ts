/** `Prefer: wait=SECONDS` (RFC 7240 §4.3) on writes: the response waits until every connected edge serves the write. */
import type { AppliedRevisions } from "./applied.ts";
import { readHeader } from "../operation/call.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";

/** Maximum wait, seconds. Longer values are reduced to it. */
const maxWaitSeconds = 30;

/** Returns the operation with waiting on request. Read operations are unchanged. */
export function waitOnRequest(operation: Operation, applied: AppliedRevisions): Operation {
  if (operation.method === "GET" || operation.open || operation.reads) return operation;
  return {
    ...operation,
    run(call) {
      const seconds = waitSeconds(call);
      const reply = operation.run(call);
      return seconds === undefined ? reply : replyAfterwards(reply, seconds, applied);
    },
  };
}

async function replyAfterwards(
  running: Reply | Promise<Reply>,
  seconds: number,
  applied: AppliedRevisions,
): Promise<Reply> {
  const reply = await running;
  if (reply.revision === undefined) return reply;
  const progress = await applied.wait(reply.revision, seconds * 1000);
  const headers = ["preference-applied", `wait=${seconds}`, "postern-applied", String(progress.applied)];
  if (progress.behind.length > 0) headers.push("postern-edges-behind", progress.behind.join(", "));
  return { ...reply, headers: [...(reply.headers ?? []), ...headers] };
}

/** Returns the requested wait. Unknown preferences are ignored, as the RFC demands. */
function waitSeconds(call: Call): number | undefined {
  const preference = readHeader(call.request, "prefer");
  const text = preference && /(?:^|,)[ \t]*wait[ \t]*=[ \t]*"?([0-9]{1,9})"?[ \t]*(?=[,;]|$)/i.exec(preference)?.[1];
  return text ? Math.min(Number(text), maxWaitSeconds) : undefined;
}
