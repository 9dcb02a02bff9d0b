import { parentPort, workerData } from "node:worker_threads";
import { logFailuresTo, reportFailure } from "../../../lib/boundary.ts";
import type { KeyedCertificate } from "../../../lib/certificates/x509.ts";
import { beat } from "../../../lib/heartbeat.ts";
import type { Log } from "../../../lib/log.ts";
import { openLog } from "../../process/log-output.ts";
import type { PortLink } from "./port-link.ts";
import type { FromThread, ThreadData, ThreadError, ToThread } from "./thread-messages.ts";

/** A started plane: what the other threads must know of it, and how it ends. */
export interface Plane<Ports> {
  readonly ports: Ports;
  /** Takes over the server's certificate authority. */
  replaceAuthority?(authority: KeyedCertificate): void;
  /** Finishes what is under way for those outside, within a bound of its own; other planes may still need it. */
  drain?(): Promise<void>;
  /** Finishes what is under way, within a bound of its own. */
  stop(): Promise<void>;
}

/** What an error outside every boundary does to the thread, see `outlive`. */
export type LastResort = "goes on" | "ends";

/** Runs a plane in this worker thread until it is told to stop. @param links one for each port that it was given */
export async function runThread<Ports, Out, In>(
  links: readonly PortLink<Out, In>[],
  lastResort: LastResort,
  start: (log: Log) => Promise<Plane<Ports>>,
): Promise<void> {
  const data = workerData as ThreadData<unknown>;
  const parent = parentPort;
  if (!parent) throw new Error("this file is the body of a worker thread");
  const tell = (message: FromThread<Ports>): void => parent.postMessage(message);
  beat(data.heart);
  let plane: Plane<Ports> | undefined;
  const failing = async (run: () => Promise<void>): Promise<void> => {
    try {
      await run();
    } catch (error) {
      tell({ type: "failed", error: threadError(error) });
    }
  };
  const drain = async (): Promise<void> => {
    await plane?.drain?.();
    tell({ type: "drained" });
  };
  const stop = async (): Promise<void> => {
    await plane?.stop();
    await logged();
    tell({ type: "stopped" });
  };
  parent.on("message", (message: ToThread) => {
    if (message.type === "link") links[message.at]?.attach(message.port);
    else if (message.type === "authority") plane?.replaceAuthority?.(message.authority);
    else void failing(message.type === "drain" ? drain : stop);
  });
  for (const [at, port] of data.ports.entries()) links[at]?.attach(port);
  try {
    const log = openLog(data.log);
    logFailuresTo(log);
    plane = await start(log);
    outlive(lastResort);
    tell({ type: "ready", ports: plane.ports });
  } catch (error) {
    tell({ type: "failed", error: threadError(error) });
  }
}

/** More exceptions than this in a minute say that the thread is not what it should be. */
const maxExceptionsPerMinute = 60;

/**
 * A rejection outside every boundary has ended its own chain and interrupted nothing, so each thread goes on. An exception
 * has left its callback half done: traffic goes on, because others' connections are worth more, unless it happens again
 * and again; a plane with state in memory ends, and is started again from what is stored.
 */
function outlive(lastResort: LastResort): void {
  process.on("unhandledRejection", (error) => reportFailure("task", error));
  if (lastResort === "ends") return;
  let since = performance.now();
  let count = 0;
  const caught = (error: Error): void => {
    reportFailure("task", error);
    if (performance.now() - since > 60_000) [since, count] = [performance.now(), 0];
    count += 1;
    if (count <= maxExceptionsPerMinute) return;
    process.off("uncaughtException", caught);
    throw error;
  };
  process.on("uncaughtException", caught);
}

/** Resolves when the last lines of the log are out of this thread: it is ended next. */
async function logged(): Promise<void> {
  // What is logged while a turn writes is written by the next one.
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => process.stderr.write("", resolve));
}

function threadError(error: unknown): ThreadError {
  const { name, message, code, port, address, stack } = (
    error instanceof Error ? error : new Error(String(error))
  ) as Partial<ThreadError> & Error;
  return { name, message, code, port, address, stack };
}
