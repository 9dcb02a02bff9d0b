/** CPU of hand-written code, compared with a library or with the minimum that would suffice. */
import { openSync, writeSync } from "node:fs";
import type { Writable } from "node:stream";
import * as ws from "ws";
import { makeLog } from "../src/lib/log.ts";
import { FrameReader } from "../src/websocket/websocket-frames.ts";
import { interleave, table } from "./support/report.ts";

const contender = (name: string, times: number, run: (times: number) => unknown) => ({
  name,
  async measure() {
    const before = process.cpuUsage();
    await run(times);
    const { user, system } = process.cpuUsage(before);
    return { "CPU µs each": (user + system) / times };
  },
});

/** Masked binary frames of 125 bytes, as many as fill a typical socket read. */
const framesPerChunk = 500;
const payload = Buffer.alloc(125, 7);
const mask = Buffer.from([1, 2, 3, 4]);
const frame = Buffer.concat([
  Buffer.from([0x82, 0x80 | payload.length]),
  mask,
  payload.map((byte, at) => byte ^ (mask[at & 3] as number)),
]);
const chunk = Buffer.concat(Array.from({ length: framesPerChunk }, () => frame));
const { Receiver } = ws as unknown as { readonly Receiver: new (options: object) => Writable };

async function byWs(times: number): Promise<void> {
  const receiver = new Receiver({ isServer: true, allowSynchronousEvents: true, maxPayload: 0 });
  let seen = 0;
  receiver.on("message", () => (seen += 1));
  for (let at = 0; at < times; at += framesPerChunk) {
    await new Promise((done) => receiver.write(Buffer.from(chunk), done));
  }
  if (seen !== times) throw new Error(`ws read ${seen} frames of ${times}`);
}

async function byHand(times: number): Promise<void> {
  let bytes = 0;
  const reader = new FrameReader({ binary: (piece) => void (bytes += piece.length), ping() {}, closed() {} });
  for (let at = 0; at < times; at += framesPerChunk) {
    reader.push(Buffer.from(chunk));
    await Promise.resolve();
  }
  if (bytes !== times * payload.length) throw new Error(`read ${bytes} bytes of ${times} frames`);
}

const frames = await interleave(
  [contender("frames, by hand", 50_000, byHand), contender("frames, ws", 50_000, byWs)],
  9,
);
table("WebSocket frames of 125 bytes read", frames, [["CPU µs each", "frames, by hand", "frames, ws", { atMost: 1 }]]);

const now = Date.now();
const sink = openSync("/dev/null", "w");
const linesPerTurn = 50;
const logTo = (write: (lines: string) => void) =>
  makeLog({ level: "info", format: "json", now: () => now, monotonic: () => performance.now() * 1e6, write });
const logs = await interleave(
  [
    contender("log, bounded", 20_000, async (times) => {
      const log = logTo((lines) => void writeSync(sink, lines));
      for (let at = 0; at < times; at += linesPerTurn) {
        for (let line = 0; line < linesPerTurn; line += 1) log.info("request", { status: 200, path: "/a" });
        await new Promise((done) => setImmediate(done));
      }
    }),
    contender("a JSON line written at once", 20_000, (times) => {
      for (let at = 0; at < times; at += 1) {
        const time = new Date(now).toISOString();
        writeSync(sink, `${JSON.stringify({ time, level: "info", event: "request", status: 200, path: "/a" })}\n`);
      }
    }),
  ],
  9,
);
table("Log lines, 50 in a turn", logs, [
  ["CPU µs each", "log, bounded", "a JSON line written at once", { atMost: 1.2 }],
]);
