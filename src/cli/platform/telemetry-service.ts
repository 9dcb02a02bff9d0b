/** Runs the telemetry thread, and connects the other threads to it. Loaded only if telemetry is sent. */
import { MessageChannel } from "node:worker_threads";
import type { LogLine } from "../../lib/log.ts";
import type { TelemetryPlan } from "../telemetry/telemetry-plan.ts";
import { superviseThread } from "./threads/supervise.ts";
import type { Supervised, ThreadPlan, ThreadTelemetry } from "./threads/supervise.ts";
import { TelemetryEnd } from "./threads/telemetry-end.ts";
import type { TelemetryShare } from "./threads/telemetry-end.ts";
import type { TelemetryThreadOptions } from "./threads/telemetry-thread.ts";

export interface TelemetryServiceOptions extends Pick<
  ThreadPlan<unknown, unknown>,
  "log" | "logForm" | "clock" | "watchSeconds"
> {
  readonly plan: TelemetryPlan;
  readonly nameServer: TelemetryThreadOptions["nameServer"];
}

type Maker = Pick<Supervised<unknown>, "tell">;

/** Maximum time for the last requests, milliseconds. */
const stopMs = 2_000;

export class TelemetryService implements ThreadTelemetry {
  readonly #thread: Supervised<undefined>;
  /** The main thread's part. */
  readonly #own: TelemetryEnd;
  readonly #makers = new Map<string, Maker>();
  #tell: Maker["tell"] | undefined;

  constructor({ plan, nameServer, ...shared }: TelemetryServiceOptions) {
    this.#own = new TelemetryEnd(plan.share);
    this.#thread = superviseThread<TelemetryThreadOptions, undefined>({
      ...shared,
      name: "telemetry",
      file: new URL("./threads/telemetry-thread.ts", import.meta.url),
      lines: () => [],
      options: () => ({ ...plan.exporter, nameServer, stopMs }),
      ready: (tell) => {
        this.#tell = tell;
        this.#own.attach(this.#line());
        for (const maker of this.#makers.values()) this.#connect(maker);
      },
    });
  }

  get share(): TelemetryShare {
    return this.#own.share;
  }

  /** Connects a thread that has started, or started again. */
  threadReady(name: string, maker: Maker): void {
    this.#makers.set(name, maker);
    if (this.#tell !== undefined) this.#connect(maker);
  }

  /** Takes a line of the main thread's log. */
  logged(line: LogLine): void {
    this.#own.logged(line);
  }

  async stop(): Promise<void> {
    this.#own.flush();
    await this.#thread.stop(2 * stopMs);
  }

  #connect(maker: Maker): void {
    maker.tell({ type: "telemetry", port: this.#line() });
  }

  #line() {
    const { port1, port2 } = new MessageChannel();
    this.#tell?.({ type: "telemetry", port: port1 });
    return port2;
  }
}
