import { Session } from "node:inspector";
import { isMainThread } from "node:worker_threads";

/** A thread inside one call of native code cannot be interrupted. Sampling gives up after this time. */
const sampleMs = 1_000;
const maxFrames = 30;

interface Frame {
  readonly functionName: string;
  readonly location: { readonly scriptId: string; readonly lineNumber: number; readonly columnNumber: number };
}

/** The fields read from messages of the inspected thread. */
interface FromThread {
  readonly method?: string;
  readonly params?: { readonly callFrames: readonly Frame[]; readonly scriptId: string; readonly url: string };
}

/**
 * Returns the stack that a thread of this process is executing now, innermost call first, even if the thread never
 * returns to its event loop. The inspector pauses it for a moment. Returns an empty list if the thread cannot be
 * paused, or Node has no inspector. Never rejects.
 */
export async function sampleStack(threadId: number): Promise<readonly string[]> {
  const { promise, resolve } = Promise.withResolvers<readonly string[]>();
  const timer = setTimeout(resolve, sampleMs, []);
  const session = new Session();
  let attached: string | undefined;
  try {
    if (isMainThread) session.connect();
    else session.connectToMainThread();
    session.on("NodeWorker.attachedToWorker", ({ params: { sessionId, workerInfo } }) => {
      if (!workerInfo.title.startsWith(`[worker ${threadId}]`)) return;
      attached = sessionId;
      for (const [id, method] of ["Debugger.enable", "Debugger.pause"].entries()) {
        session.post("NodeWorker.sendMessageToWorker", { sessionId, message: JSON.stringify({ id, method }) });
      }
    });
    const urls = new Map<string, string>();
    session.on("NodeWorker.receivedMessageFromWorker", ({ params: { sessionId, message } }) => {
      if (sessionId !== attached) return;
      const { method, params } = JSON.parse(message) as FromThread;
      if (params === undefined) return;
      if (method === "Debugger.scriptParsed") urls.set(params.scriptId, params.url);
      else if (method === "Debugger.paused") resolve(params.callFrames.map((frame) => textOf(frame, urls)));
    });
    session.post("NodeWorker.enable", { waitForDebuggerOnStart: false }, (error) => error && resolve([]));
    const stack = await promise;
    return stack.slice(0, maxFrames);
  } catch {
    return [];
  } finally {
    clearTimeout(timer);
    await detachSession(session, attached);
  }
}

function textOf({ functionName, location }: Frame, urls: ReadonlyMap<string, string>): string {
  const { scriptId, lineNumber, columnNumber } = location;
  return `${functionName || "(anonymous)"} (${urls.get(scriptId) ?? ""}:${lineNumber + 1}:${columnNumber + 1})`;
}

/** Resumes the thread first: a thread paused by the inspector cannot be terminated. */
async function detachSession(session: Session, attached: string | undefined): Promise<void> {
  try {
    if (attached !== undefined) {
      await new Promise((done) => session.post("NodeWorker.detach", { sessionId: attached }, done));
    }
    session.disconnect();
  } catch {
    // it was never connected
  }
}
