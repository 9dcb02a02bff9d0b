import { parentPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import type { AddressData } from "../../../geo/address-book.ts";
import { logFailuresTo, reportFailure } from "../../../lib/boundary.ts";
import type { KeyedCertificate } from "../../../lib/certificates/x509.ts";
import type { AccessWritten } from "../../../lib/access-fields.ts";
import { startHeartbeat } from "../../../lib/heartbeat.ts";
import type { Log } from "../../../lib/log.ts";
import { openLog } from "../../process/log-output.ts";
import type { TelemetryEnd } from "./telemetry-end.ts";
import type { PortLink } from "./port-link.ts";
import type { FromThread, ServerProblem, ThreadData, ThreadError, ToThread } from "./thread-messages.ts";

/** A started plane: the addresses that other threads need, and how to stop it. */
export interface Plane<Ports> {
  readonly ports: Ports;
  /** Switches to this certificate authority of the server. */
  replaceAuthority?(authority: KeyedCertificate): void;
  /** Connects an edge and the capture thread. */
  captureLine?(port: MessagePort): void;
  /** Connects a maker of telemetry and the telemetry thread; only in that thread. */
  telemetryLine?(port: MessagePort): void;
  /** Keeps these locations and categories of addresses. Edges take them themselves, because they come early. */
  replaceAddresses?(data: AddressData): void;
  /** Shows a condition of the server itself. */
  serverProblem?(problem: ServerProblem): void;
  /** Lines of the access log were written, or were lost. */
  accessWritten?(result: AccessWritten): void;
  /**
   * Finishes the open requests of clients within its own time limit. Other planes may still need it afterwards.
   * @param isObserved see `ToThread`
   */
  drain?(isObserved: boolean): Promise<void>;
  /** Finishes its open work within its own time limit. */
  stop(): Promise<void>;
}

/** Effect of an unhandled error on the thread, see `outliveErrors`. */
export type LastResort = "continues" | "ends";

/**
 * Runs a plane in this worker thread until the main thread stops it.
 * @param links one for each port that the thread got
 */
export async function runThread<Ports, Out, In>(
  links: readonly PortLink<Out, In>[],
  lastResort: LastResort,
  start: (log: Log, telemetry: TelemetryEnd | undefined) => Promise<Plane<Ports>>,
): Promise<void> {
  const data = workerData as ThreadData<unknown>;
  const parent = parentPort;
  if (!parent) throw new Error("this file is the body of a worker thread");
  const tell = (message: FromThread<Ports>): void => parent.postMessage(message);
  startHeartbeat(data.heart);
  let plane: Plane<Ports> | undefined;
  let telemetry: TelemetryEnd | undefined;
  const failing = async (run: () => Promise<void>): Promise<void> => {
    try {
      await run();
    } catch (error) {
      tell({ type: "failed", error: threadError(error) });
    }
  };
  const drain = async (isObserved: boolean): Promise<void> => {
    await plane?.drain?.(isObserved);
    tell({ type: "drained" });
  };
  const stop = async (): Promise<void> => {
    await plane?.stop();
    telemetry?.flush();
    await waitForLogs();
    tell({ type: "stopped" });
  };
  parent.on("message", (message: ToThread) => {
    if (message.type === "link") links[message.at]?.attach(message.port);
    else if (message.type === "authority") plane?.replaceAuthority?.(message.authority);
    else if (message.type === "capture") plane?.captureLine?.(message.port);
    else if (message.type === "telemetry") {
      if (telemetry) telemetry.attach(message.port);
      else plane?.telemetryLine?.(message.port);
    } else if (message.type === "addresses") plane?.replaceAddresses?.(message.data);
    else if (message.type === "serverProblem") plane?.serverProblem?.(message.problem);
    else if (message.type === "accessWritten") plane?.accessWritten?.(message.result);
    else if (message.type === "drain") void failing(() => drain(message.isObserved));
    else if (message.type === "stop") void failing(stop);
  });
  for (const [at, port] of data.ports.entries()) links[at]?.attach(port);
  try {
    if (data.telemetry) telemetry = new (await import("./telemetry-end.ts")).TelemetryEnd(data.telemetry);
    const made = telemetry;
    const log = openLog(data.log, made && ((line) => made.logged(line)));
    logFailuresTo(log);
    plane = await start(log, telemetry);
    outliveErrors(lastResort);
    tell({ type: "ready", ports: plane.ports });
  } catch (error) {
    tell({ type: "failed", error: threadError(error) });
  }
}

/** Maximum number of unhandled exceptions per minute. More indicate a broken thread. */
const maxExceptionsPerMinute = 60;

/**
 * An unhandled rejection has only ended its own promise chain, so every thread continues. An exception has interrupted
 * its callback halfway. A thread with traffic continues, because other connections matter more, unless exceptions
 * repeat. A plane with state in memory stops and restarts from stored data.
 */
function outliveErrors(lastResort: LastResort): void {
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

/** Resolves when the last log lines have left this thread, so that it can be stopped. */
async function waitForLogs(): Promise<void> {
  // Lines that are logged during one turn's write are written in the next turn.
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => process.stderr.write("", resolve));
}

function threadError(error: unknown): ThreadError {
  const { name, message, code, port, address, stack } = (
    error instanceof Error ? error : new Error(String(error))
  ) as Partial<ThreadError> & Error;
  return { name, message, code, port, address, stack };
}
