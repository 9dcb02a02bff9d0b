import { errorCode, flag, frameType, readUint31 } from "./http2-frames.ts";

/** An error that ends the connection. */
export interface ConnectionError {
  readonly code: number;
  readonly reason: string;
}

/** Constraints that a frame's type puts on its stream id and length (RFC 9113 §6). */
interface Rule {
  readonly on: "stream" | "connection" | "either";
  fits(length: number, flags: number): boolean;
}

const rules: Readonly<Record<number, Rule>> = {
  [frameType.headers]: { on: "stream", fits: () => true },
  [frameType.continuation]: { on: "stream", fits: () => true },
  [frameType.priority]: { on: "stream", fits: (length) => length === 5 },
  [frameType.rstStream]: { on: "stream", fits: (length) => length === 4 },
  [frameType.settings]: {
    on: "connection",
    fits: (length, flags) => ((flags & flag.ack) === 0 ? length % 6 === 0 : length === 0),
  },
  [frameType.ping]: { on: "connection", fits: (length) => length === 8 },
  [frameType.goaway]: { on: "connection", fits: (length) => length >= 8 },
  [frameType.windowUpdate]: { on: "either", fits: (length) => length === 4 },
};

/**
 * Returns what is wrong with a frame regardless of its stream's state, or undefined. Frames of unknown type are
 * accepted.
 *
 * @param lastId highest stream id that the client has used
 */
export function checkFrame(
  type: number,
  flags: number,
  streamId: number,
  lastId: number,
  bytes: Buffer,
  start: number,
  end: number,
): ConnectionError | undefined {
  const rule = rules[type];
  if (rule === undefined) {
    return type === frameType.pushPromise ? protocolError("PUSH_PROMISE from a client") : undefined;
  }
  if (rule.on === "stream" ? streamId === 0 : rule.on === "connection" && streamId !== 0) {
    return protocolError(`frame of type ${type} on stream ${streamId}`);
  }
  if (!rule.fits(end - start, flags)) {
    return { code: errorCode.frameSizeError, reason: `frame of type ${type} has a length of ${end - start}` };
  }
  const needsStream = type === frameType.rstStream || type === frameType.windowUpdate;
  if (needsStream && streamId > lastId) return protocolError(`frame of type ${type} on an idle stream`);
  if (type === frameType.headers && streamId % 2 === 0) return protocolError("HEADERS on a stream of the server's");
  if (type === frameType.priority && readUint31(bytes, start) === streamId) return dependsOnItself;
  return undefined;
}

export function protocolError(reason: string): ConnectionError {
  return { code: errorCode.protocolError, reason };
}

export const dependsOnItself = protocolError("a stream that depends on itself");
