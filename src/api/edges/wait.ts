/** `Prefer: wait=SECONDS` (RFC 7240 §4.3) on writes: they are answered once every connected edge serves them. */
import type { AppliedRevisions } from "./applied.ts";
import { header } from "../operation/call.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";

/** Longest wait, seconds; a longer one is cut to it. */
const maxWaitSeconds = 30;

/** The operation, waiting when it is asked to; reads are left as they are. */
export function waiting(operation: Operation, applied: AppliedRevisions): Operation {
  if (operation.method === "GET" || operation.open || operation.reads) return operation;
  return {
    ...operation,
    run(call) {
      const seconds = waitSeconds(call);
      const reply = operation.run(call);
      return seconds === undefined ? reply : afterwards(reply, seconds, applied);
    },
  };
}

async function afterwards(running: Reply | Promise<Reply>, seconds: number, applied: AppliedRevisions): Promise<Reply> {
  const reply = await running;
  if (reply.revision === undefined) return reply;
  const progress = await applied.wait(reply.revision, seconds * 1000);
  const headers = ["preference-applied", `wait=${seconds}`, "postern-applied", String(progress.applied)];
  if (progress.behind.length > 0) headers.push("postern-edges-behind", progress.behind.join(", "));
  return { ...reply, headers: [...(reply.headers ?? []), ...headers] };
}

/** What the client prefers; preferences that are not understood are passed over, as the RFC wants. */
function waitSeconds(call: Call): number | undefined {
  const given = header(call.request, "prefer");
  const text = given && /(?:^|,)[ \t]*wait[ \t]*=[ \t]*"?([0-9]{1,9})"?[ \t]*(?=[,;]|$)/i.exec(given)?.[1];
  return text ? Math.min(Number(text), maxWaitSeconds) : undefined;
}
