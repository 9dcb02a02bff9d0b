/**
 * Sends batches to an OTLP/HTTP endpoint, one request at a time for each signal, and repeats what may be repeated
 * (https://opentelemetry.io/docs/specs/otlp/). The makers of batches bound how much waits here.
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { ExportCompression, ExportProtocol, Signal } from "../lib/telemetry-words.ts";
import { openOutbound } from "../outbound/outbound.ts";
import type { Outbound, OutboundAnswer } from "../outbound/outbound.ts";
import { useNameServers } from "../outbound/names/resolve-name.ts";
import { requestOf } from "./otlp-envelope.ts";
import type { Maker } from "./otlp-envelope.ts";
import type { BatchDone, SignalBatch, SignalLine } from "./hand-over.ts";
import { readPartialSuccess } from "./partial-success.ts";

export interface ExporterOptions {
  /** URL of each signal that is sent. */
  readonly urls: Readonly<Partial<Record<Signal, string>>>;
  /** Additional header fields, which may be credentials. */
  readonly headers: Readonly<Record<string, string>>;
  readonly protocol: ExportProtocol;
  readonly compression: ExportCompression;
  readonly timeoutMs: number;
  /** Name servers of the operator. Default: the system's. */
  readonly nameServer?: Parameters<typeof useNameServers>[0] | undefined;
  /** PEM of the authorities of the endpoint. Default: the system's. */
  readonly ca: string | undefined;
  readonly maker: Maker;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns a number from 0 up to, but not including, 1. */
  readonly random: () => number;
}

/** Bytes of the batches of one request. Collectors accept at least 4 MiB. */
const requestBytes = 1024 * 1024;
/** Pause before an attempt is repeated, doubled up to the maximum, milliseconds. */
const [firstPauseMs, longestPauseMs] = [1_000, 30_000];
/** Longest pause that an endpoint may ask for, milliseconds. */
const longestAskedMs = 5 * 60_000;
/** Higher levels take up to twice the time, and save almost nothing. */
const gzipLevel = 1;
const compressed = promisify(gzip);
const repeatable = new Set([429, 502, 503, 504]);

export class Exporter implements SignalLine {
  readonly #lanes: Map<Signal, SignalLane>;
  readonly #outbound: Outbound;

  constructor(options: ExporterOptions) {
    const { timeoutMs, ca, clock, nameServer } = options;
    if (nameServer !== undefined) useNameServers(nameServer);
    this.#outbound = openOutbound({ purpose: "telemetry", clock, reach: "any", ca, timeoutMs, maxConnections: 3 });
    this.#lanes = new Map(
      Object.entries(options.urls).map(([signal, url]) => [
        signal as Signal,
        new SignalLane(signal as Signal, new URL(url), options, this.#outbound),
      ]),
    );
  }

  send(batch: SignalBatch, done: BatchDone): void {
    const lane = this.#lanes.get(batch.signal);
    if (lane === undefined) throw new Error(`send a batch of ${batch.signal}: the signal has no URL`);
    lane.add({ batch, done });
  }

  /** Makes one last attempt to send what waits, within the bound. */
  async stop(boundMs: number, clock: Clock): Promise<void> {
    const bound = Promise.withResolvers<void>();
    const timer = clock.after(boundMs, bound.resolve);
    await Promise.race([Promise.all([...this.#lanes.values()].map((lane) => lane.finish())), bound.promise]);
    timer.cancel();
    this.#outbound.close();
  }
}

interface QueuedBatch {
  readonly batch: SignalBatch;
  readonly done: BatchDone;
}

/** The batches of one signal. */
class SignalLane {
  readonly #signal: Signal;
  readonly #url: URL;
  readonly #options: ExporterOptions;
  readonly #outbound: Outbound;
  #waiting: QueuedBatch[] = [];
  #running: Promise<void> | undefined;
  #isFailing = false;
  #isLast = false;
  #resume: (() => void) | undefined;

  constructor(signal: Signal, url: URL, options: ExporterOptions, outbound: Outbound) {
    this.#signal = signal;
    this.#url = url;
    this.#options = options;
    this.#outbound = outbound;
  }

  add(waiting: QueuedBatch): void {
    this.#waiting.push(waiting);
    this.#running ??= this.#run();
  }

  finish(): Promise<void> {
    this.#isLast = true;
    this.#resume?.();
    return this.#running ?? Promise.resolve();
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batches = this.#next();
      const dropped = await this.#sendAll(batches).catch((error: unknown) => {
        this.#failed(error);
        return batches.reduce((sum, { batch }) => sum + batch.items, 0);
      });
      this.#settle(batches, dropped);
    }
    this.#running = undefined;
  }

  /** Takes the next batches, which fit into one request. */
  #next(): readonly QueuedBatch[] {
    let count = 0;
    for (let bytes = 0; count < this.#waiting.length; count += 1) {
      bytes += (this.#waiting[count] as QueuedBatch).batch.bytes.length;
      if (bytes > requestBytes && count > 0) break;
    }
    return this.#waiting.splice(0, count);
  }

  #settle(batches: readonly QueuedBatch[], dropped: number): void {
    let left = dropped;
    for (const { batch, done } of batches) {
      const lost = Math.min(left, batch.items);
      left -= lost;
      done(lost);
    }
  }

  /** Returns how many items the endpoint rejected. Rejects if none was sent. */
  async #sendAll(batches: readonly QueuedBatch[]): Promise<number> {
    const body = await this.#bodyOf(batches);
    for (let failures = 1; ; failures += 1) {
      const answer = await this.#attempt(body).catch((error: unknown) => error as Error);
      if (!(answer instanceof Error) && answer.status >= 200 && answer.status < 300) return this.#accepted(answer);
      const mayRepeat = answer instanceof Error || repeatable.has(answer.status);
      const why = answer instanceof Error ? answer : new Error(`the endpoint answered ${answer.status}`);
      if (!mayRepeat || this.#isLast) throw why;
      this.#failed(why);
      const asked = answer instanceof Error ? undefined : retryAfterMs(answer, this.#options.clock.now());
      await this.#pause(asked ?? pauseAfter(failures, this.#options.random));
    }
  }

  async #bodyOf(batches: readonly QueuedBatch[]): Promise<readonly Uint8Array[]> {
    const { maker, protocol, compression } = this.#options;
    let pieces = requestOf(
      batches.map(({ batch }) => batch.bytes),
      maker,
    );
    if (protocol === "http/json") {
      const { requestJson } = await import("./to-json.ts");
      pieces = [Buffer.from(requestJson(this.#signal, Buffer.concat(pieces)))];
    }
    return compression === "gzip" ? [await compressed(Buffer.concat(pieces), { level: gzipLevel })] : pieces;
  }

  #attempt(body: readonly Uint8Array[]): Promise<OutboundAnswer> {
    const { headers, protocol, compression } = this.#options;
    return this.#outbound.send({
      method: "POST",
      url: this.#url,
      headers: {
        ...headers,
        "content-type": protocol === "http/json" ? "application/json" : "application/x-protobuf",
        ...(compression !== "none" && { "content-encoding": compression }),
      },
      body,
    });
  }

  #accepted(answer: OutboundAnswer): number {
    const { rejected, message } = readPartialSuccess(answer);
    const { log } = this.#options;
    const { host } = this.#url;
    if (rejected > 0) log.warn("telemetry rejected in part", { signal: this.#signal, host, rejected, message });
    if (this.#isFailing) log.info("telemetry is sent again", { signal: this.#signal, host });
    this.#isFailing = false;
    return rejected;
  }

  #failed(error: unknown): void {
    if (!this.#isFailing) {
      this.#options.log.warn("telemetry not sent: check --otlp-endpoint and the collector", {
        signal: this.#signal,
        host: this.#url.host,
        error,
      });
    }
    this.#isFailing = true;
  }

  async #pause(ms: number): Promise<void> {
    let timer: Timer | undefined;
    await new Promise<void>((resolve) => {
      this.#resume = resolve;
      timer = this.#options.clock.after(ms, resolve);
    });
    timer?.cancel();
    this.#resume = undefined;
  }
}

/** Returns the pause that the endpoint asks for, in seconds or until a date (RFC 9110 §10.2.3). */
function retryAfterMs({ headers }: OutboundAnswer, now: number): number | undefined {
  const given = headers["retry-after"];
  if (given === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(given) ? Number(given) * 1_000 : Date.parse(given) - now;
  return Number.isNaN(ms) ? undefined : Math.min(longestAskedMs, Math.max(0, ms));
}

function pauseAfter(failures: number, random: () => number): number {
  return Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1)) * (0.75 + random() / 2);
}
