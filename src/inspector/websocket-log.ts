/** Decodes the messages of a WebSocket (RFC 6455) from the stored frames of both directions. */
import { isUtf8 } from "node:buffer";
import { constants, inflateRawSync } from "node:zlib";
import { FrameLog } from "./frame-log.ts";
import type { FrameOrder, KeptFrame } from "./frame-log.ts";

const kinds: Readonly<Record<number, WebSocketMessage["type"]>> = {
  0: "continuation",
  1: "text",
  2: "binary",
  8: "close",
  9: "ping",
  10: "pong",
};
const isControl = (opcode: number): boolean => opcode >= 8;
/** Maximum decompressed size of one message, and of all messages decoded together, bytes. */
const maxInflatedBytes = 1_048_576;
const maxInflatedInAll = 4_194_304;

/** Number of bytes that decompression may still produce. */
export interface Budget {
  left: number;
}

/** Furthest distance that a compressed message may refer back (RFC 1951 §2). */
const windowBytes = 32_768;
/** Removed from the end of each compressed message (RFC 7692 §7.2.1). */
const tail = Buffer.from([0, 0, 0xff, 0xff]);

export interface WebSocketMessage {
  readonly from: "visitor" | "service";
  /** Wall clock at its first frame, milliseconds since 1970. */
  readonly at: number;
  readonly order: number;
  /** "continuation": the start of the message was not stored. */
  readonly type: "text" | "binary" | "close" | "ping" | "pong" | "continuation" | "other";
  /** The message as transmitted. */
  readonly bytes: number;
  /** Decompressed, unless `isCompressed`. */
  readonly content: Buffer;
  /** Whether it is still compressed because the data that it refers to was not stored. */
  readonly isCompressed: boolean;
  /** Whether part of it was not stored, or has not arrived yet. */
  readonly isCut: boolean;
}

/** Which directions begin anew with each message: a message that was compressed so can be read alone (RFC 7692 §7.1.1). */
export interface Compression {
  readonly visitorAnew: boolean;
  readonly serviceAnew: boolean;
}

export class WebSocketLog {
  readonly #order: FrameOrder = { last: 0 };
  readonly #visitor = new FrameLog(this.#order);
  readonly #service = new FrameLog(this.#order);

  /** Returns by how many bytes more memory is held. */
  fromVisitor(bytes: Buffer, now: number): number {
    return this.#visitor.add(bytes, now);
  }

  /** Returns by how many bytes more memory is held. */
  fromService(bytes: Buffer, now: number): number {
    return this.#service.add(bytes, now);
  }

  /** Frames that went for newer ones. */
  get dropped(): number {
    return this.#visitor.dropped + this.#service.dropped;
  }

  /**
   * Oldest first. @param compression undefined: none was agreed on @param most may come of what is compressed, and is less
   * by that afterwards
   */
  messages(compression?: Compression, most: Budget = { left: maxInflatedInAll }): WebSocketMessage[] {
    const given = Math.min(most.left, maxInflatedInAll);
    const budget = { left: given };
    const read = (log: FrameLog, from: WebSocketMessage["from"], startsAnew: boolean): WebSocketMessage[] => {
      const inflater = compression && makeInflater(startsAnew, log.dropped === 0, budget);
      return joinFrames(log.frames()).map((frames) => messageOf(frames, from, inflater));
    };
    const messages = [
      ...read(this.#visitor, "visitor", compression?.visitorAnew === true),
      ...read(this.#service, "service", compression?.serviceAnew === true),
    ].toSorted((one, other) => one.order - other.order);
    most.left -= given - budget.left;
    return messages;
  }
}

/** What the answer to a handshake says of compression (RFC 7692 §7.1). @param extensions `Sec-WebSocket-Extensions` */
export function compressionOf(extensions: string): Compression | undefined {
  const agreed = extensions
    .toLowerCase()
    .split(",")
    .map((one) => one.split(";").map((part) => part.trim()))
    .find(([name]) => name === "permessage-deflate");
  return (
    agreed && {
      visitorAnew: agreed.includes("client_no_context_takeover"),
      serviceAnew: agreed.includes("server_no_context_takeover"),
    }
  );
}

type Inflate = (compressed: Buffer, isWhole: boolean) => Buffer | undefined;

/** Undoes the compression of one direction's messages, in their order; undefined once one is missing. */
function makeInflater(startsAnew: boolean, isFromFirst: boolean, budget: Budget): Inflate {
  let window: Buffer | undefined = startsAnew || isFromFirst ? Buffer.alloc(0) : undefined;
  return (compressed, isWhole) => {
    if (!window || budget.left <= 0) return undefined;
    try {
      const plain = inflateRawSync(Buffer.concat([compressed, isWhole ? tail : Buffer.alloc(0)]), {
        finishFlush: constants.Z_SYNC_FLUSH,
        maxOutputLength: maxInflatedBytes,
        ...(window.length > 0 && { dictionary: window }),
      });
      budget.left -= plain.length;
      if (!startsAnew) window = isWhole ? Buffer.concat([window, plain]).subarray(-windowBytes) : undefined;
      return plain;
    } catch {
      // It is none, or becomes more than a message may.
      budget.left -= maxInflatedBytes;
      if (!startsAnew) window = undefined;
      return undefined;
    }
  };
}

/** Frames by message; control frames may stand between those of another. */
function joinFrames(frames: readonly KeptFrame[]): KeptFrame[][] {
  const found: KeptFrame[][] = [];
  let open: KeptFrame[] | undefined;
  for (const frame of frames) {
    if (isControl(frame.opcode)) {
      found.push([frame]);
      continue;
    }
    if (open && frame.opcode === 0) open.push(frame);
    else found.push((open = [frame]));
    if (frame.isFinal) open = undefined;
  }
  return found;
}

function messageOf(frames: readonly KeptFrame[], from: WebSocketMessage["from"], inflate?: Inflate): WebSocketMessage {
  const [first] = frames as [KeptFrame];
  const content = Buffer.concat(frames.map(({ payload }) => payload));
  const bytes = frames.reduce((sum, { length }) => sum + length, 0);
  const isCut = content.length < bytes || frames.at(-1)?.isFinal !== true;
  const plain = first.isCompressed ? inflate?.(content, !isCut) : content;
  return {
    from,
    at: first.at,
    order: first.order,
    type: kinds[first.opcode] ?? "other",
    bytes,
    content: plain ?? content,
    isCompressed: plain === undefined,
    isCut,
  };
}

/** A message as the local API has it: text as text, and other bytes in base64. */
export function renderMessage({ from, at, type, bytes, content, isCompressed, isCut }: WebSocketMessage): object {
  return {
    from,
    at: new Date(at).toISOString(),
    type,
    bytes,
    ...(type === "close" && content.length > 1 && { code: content.readUInt16BE(0) }),
    ...contentOf(type === "close" ? content.subarray(2) : content, isCompressed || type === "binary"),
    ...(isCompressed && { compressed: true }),
    ...(isCut && { cut: true }),
  };
}

function contentOf(content: Buffer, isBytes: boolean): object {
  return !isBytes && isUtf8(content) ? { text: content.toString("utf8") } : { base64: content.toString("base64") };
}
