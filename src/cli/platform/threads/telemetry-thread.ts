/** The telemetry thread: sends what all threads of the server have made to an OTLP endpoint. */
import { receiveMessageOnPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { runContained } from "../../../lib/boundary.ts";
import { systemClock } from "../../../lib/clock.ts";
import { Exporter } from "../../../telemetry/exporter.ts";
import type { ExporterOptions } from "../../../telemetry/exporter.ts";
import { runThread } from "./run-thread.ts";
import type { FromTelemetry, ToTelemetry } from "./telemetry-end.ts";
import type { ThreadData } from "./thread-messages.ts";

export interface TelemetryThreadOptions extends Omit<ExporterOptions, "clock" | "log" | "random"> {
  /** Maximum time for the last requests of a stop, milliseconds. */
  readonly stopMs: number;
}

const { options } = workerData as ThreadData<TelemetryThreadOptions>;
const ports = new Set<MessagePort>();

await runThread<undefined, never, never>([], "continues", (log) => {
  const exporter = new Exporter({ ...options, clock: systemClock, log, random: Math.random });
  const take = (port: MessagePort, { id, batch }: ToTelemetry): void => {
    const memory = batch.bytes.buffer;
    exporter.send(batch, (dropped) => port.postMessage({ id, dropped, memory } satisfies FromTelemetry, [memory]));
  };
  return Promise.resolve({
    ports: undefined,
    telemetryLine(port) {
      ports.add(port);
      port.on("message", (message: ToTelemetry) => runContained("message", () => take(port, message)));
      port.once("close", () => ports.delete(port));
    },
    async stop() {
      for (const port of ports) {
        for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
          take(port, next.message as ToTelemetry);
        }
      }
      await exporter.stop(options.stopMs, systemClock);
    },
  });
});
