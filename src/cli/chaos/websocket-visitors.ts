/** Visitors with WebSockets to a service that returns messages. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { request as requestHttps } from "node:https";
import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { causeOf } from "./visit-tally.ts";
import type { VisitTally } from "./visit-tally.ts";
import { connectTo, patienceMs } from "./chaos-target.ts";
import type { ChaosTarget } from "./chaos-target.ts";

const opcodes = { text: 1, close: 8 } as const;
/** Interval between two messages of a WebSocket that stays open, milliseconds. */
const messageMs = 1_000;
const retryMs = 100;
const message = Buffer.from("postern chaos");

/**
 * Opens WebSockets until the signal, one after another. Each one exchanges a message and closes itself.
 * @param isHeld whether each one stays open until the server closes it, and counts as failed without a close frame
 */
export async function visitWebSocket(
  target: ChaosTarget,
  isHeld: boolean,
  tally: VisitTally,
  until: AbortSignal,
): Promise<void> {
  while (!until.aborted) {
    try {
      const line = await openWebSocket(target);
      tally.connections += 1;
      try {
        await line.exchange();
        if (isHeld) await holdWebSocket(line, until);
        if (!line.isLeft) await line.close();
        tally.succeeded();
      } catch (error) {
        // The server may close between two messages, with a close frame.
        if (!line.isLeft) throw error;
        tally.succeeded();
      } finally {
        line.destroy();
      }
      await pause(target.thinkMs);
    } catch (error) {
      if (!until.aborted) tally.failed(causeOf(error));
      await pause(retryMs);
    }
  }
}

/** Exchanges messages until the server closes the WebSocket. */
async function holdWebSocket(line: WebSocketLine, until: AbortSignal): Promise<void> {
  while (!line.isLeft && !until.aborted) {
    await Promise.race([pause(messageMs), line.left]);
    if (!line.isLeft) await line.exchange();
  }
}

interface WebSocketLine {
  /** Whether the server has sent a close frame, and a promise of it. */
  readonly isLeft: boolean;
  readonly left: Promise<unknown>;
  /** Sends a message and waits for the answer. */
  exchange(): Promise<void>;
  /** Sends a close frame and waits for the server's. */
  close(): Promise<void>;
  destroy(): void;
}

async function openWebSocket(target: ChaosTarget): Promise<WebSocketLine> {
  const connection = await connectTo(target, "http/1.1");
  const headers = {
    host: target.url.host,
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": randomBytes(16).toString("base64"),
  };
  const outgoing = requestHttps({ createConnection: () => connection, path: target.websocketPath ?? "/", headers });
  outgoing.end();
  const refused = once(outgoing, "response").then(([response]) => {
    connection.destroy();
    throw new Error(`status ${String((response as { statusCode?: number }).statusCode)} instead of an upgrade`);
  });
  refused.catch(() => {});
  const opened = once(outgoing, "upgrade", { signal: AbortSignal.timeout(patienceMs) });
  const [, socket, first] = (await Promise.race([opened, refused])) as [unknown, Socket, Buffer];
  outgoing.on("error", () => {});
  socket.on("error", () => {});
  return followLine(socket, first);
}

function followLine(socket: Socket, first: Buffer): WebSocketLine {
  let bytes = Buffer.alloc(0);
  let isLeft = false;
  let answered = Promise.withResolvers<void>();
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  const take = (part: Buffer): void => {
    bytes = Buffer.concat([bytes, part]);
    for (let end = frameEnd(bytes); end > 0; end = frameEnd(bytes)) {
      if (((bytes[0] as number) & 15) === opcodes.close) {
        isLeft = true;
        if (socket.writable) socket.write(encodeMaskedFrame(opcodes.close, bytes.subarray(2, end)));
        leave();
      } else answered.resolve();
      bytes = bytes.subarray(end);
    }
  };
  const lost = once(socket, "close").then(() => {
    if (!isLeft) throw new Error("cut without a close frame");
  });
  lost.catch(() => {});
  const over = Promise.race([left, lost]);
  // Only the visitors that hold their WebSocket wait for it.
  over.catch(() => {});
  socket.on("data", take);
  take(first);
  const within = async (wanted: Promise<unknown>): Promise<void> => {
    const late = new AbortController();
    const expiry = pause(patienceMs, undefined, { signal: late.signal }).then(() => {
      throw new Error("no answer to a message");
    });
    expiry.catch(() => {});
    try {
      await Promise.race([wanted, lost, expiry]);
    } finally {
      late.abort();
    }
  };
  return {
    get isLeft() {
      return isLeft;
    },
    left: over,
    exchange() {
      answered = Promise.withResolvers();
      socket.write(encodeMaskedFrame(opcodes.text, message));
      return within(Promise.race([answered.promise, left]));
    },
    close() {
      socket.write(encodeMaskedFrame(opcodes.close, Buffer.from([0x03, 0xe8])));
      return within(left);
    },
    destroy: () => void socket.destroy(),
  };
}

/** Returns the end of the first frame, or 0 if it is not complete. Only short frames are expected. */
function frameEnd(bytes: Buffer): number {
  if (bytes.length < 2) return 0;
  const short = (bytes[1] as number) & 127;
  if (short > 125) throw new Error("the WebSocket service must return the message");
  return bytes.length >= 2 + short ? 2 + short : 0;
}

/** A mask of zeros leaves the payload unchanged. */
function encodeMaskedFrame(opcode: number, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | payload.length, 0, 0, 0, 0]), payload]);
}
