import { parentPort, workerData } from "node:worker_threads";
import type { Log } from "../../../lib/log.ts";
import { openLog } from "../../process/log-output.ts";
import type { PortLink } from "./port-link.ts";
import type { FromThread, ThreadData, ThreadError, ToThread } from "./thread-messages.ts";

/** A started plane: what the other threads must know of it, and how it ends. */
export interface Plane<Ports> {
  readonly ports: Ports;
  /** Finishes what is under way for those outside, within a bound of its own; other planes may still need it. */
  drain?(): Promise<void>;
  /** Finishes what is under way, within a bound of its own. */
  stop(): Promise<void>;
}

/** Runs a plane in this worker thread until it is told to stop. @param links one for each port that it was given */
export async function runThread<Ports, Out, In>(
  links: readonly PortLink<Out, In>[],
  start: (log: Log) => Promise<Plane<Ports>>,
): Promise<void> {
  const data = workerData as ThreadData<unknown>;
  const parent = parentPort;
  if (!parent) throw new Error("this file is the body of a worker thread");
  const tell = (message: FromThread<Ports>): void => parent.postMessage(message);
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
    else void failing(message.type === "drain" ? drain : stop);
  });
  for (const [at, port] of data.ports.entries()) links[at]?.attach(port);
  try {
    plane = await start(openLog(data.log));
    tell({ type: "ready", ports: plane.ports });
  } catch (error) {
    tell({ type: "failed", error: threadError(error) });
  }
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
