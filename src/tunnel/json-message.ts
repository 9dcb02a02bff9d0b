/** One JSON object on a stream that its sender does not end, so that braces mark its end (§4). */
import type { ByteReceiver, ByteStream } from "../lib/io/byte-stream.ts";
import { Refusal } from "../lib/errors.ts";
import { GatheredBytes } from "../lib/gathered-bytes.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Finds the end of the first object, for any split of the bytes. */
export class JsonEnd {
  #depth = 0;
  #inString = false;
  #escaped = false;

  /** Returns the index after the closing brace, or -1 if these bytes do not contain it. Throws if no object begins. */
  find(bytes: Uint8Array): number {
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (this.#escaped) this.#escaped = false;
      else if (this.#inString) {
        if (byte === quote) this.#inString = false;
        else if (byte === backslash) this.#escaped = true;
      } else if (byte === openBrace) this.#depth += 1;
      else if (this.#depth === 0) {
        if (byte > 0x20) throw new Refusal("agent_request_invalid", "The message is not a JSON object.");
      } else if (byte === quote) this.#inString = true;
      else if (byte === closeBrace && (this.#depth -= 1) === 0) return at + 1;
    }
    return -1;
  }
}

/** Limits the total size of a session's unfinished messages, bytes. */
export class MessageRoom {
  readonly maxBytes: number;
  #taken = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  get taken(): number {
    return this.#taken;
  }

  take(byteCount: number): boolean {
    if (this.#taken + byteCount > this.maxBytes) return false;
    this.#taken += byteCount;
    return true;
  }

  giveBack(byteCount: number): void {
    this.#taken -= byteCount;
  }
}

/** Collects one object, then calls `done` once with the object or an error. */
export class JsonReceiver implements ByteReceiver {
  readonly #stream: ByteStream;
  readonly #maxBytes: number;
  readonly #room: MessageRoom | undefined;
  /** Bytes taken from the room. The receiver of the message returns them. */
  roomTaken = 0;
  readonly #done: (error: Error | undefined, message: JsonObject) => void;
  readonly #end = new JsonEnd();
  readonly #bytes = new GatheredBytes();
  #finished = false;

  constructor(
    stream: ByteStream,
    maxBytes: number,
    done: (error: Error | undefined, message: JsonObject) => void,
    room?: MessageRoom,
  ) {
    this.#room = room;
    this.#stream = stream;
    this.#maxBytes = maxBytes;
    this.#done = done;
  }

  data(bytes: Buffer): void {
    if (this.#finished) return;
    this.#stream.consumed(bytes.length);
    if (this.#bytes.length + bytes.length > this.#maxBytes) {
      this.#fail(new Refusal("agent_request_invalid", `The message is larger than ${this.#maxBytes} bytes.`));
      return;
    }
    if (this.#room?.take(bytes.length) === false) {
      const why = `The unfinished messages of the session are larger than ${this.#room.maxBytes} bytes together.`;
      this.#fail(new Refusal("agent_request_invalid", why));
      return;
    }
    this.roomTaken += bytes.length;
    try {
      const end = this.#end.find(bytes);
      this.#bytes.add(end === -1 ? bytes : bytes.subarray(0, end));
      if (end === -1) return;
      const message = JSON.parse(this.#bytes.join().toString("utf8")) as JsonObject;
      this.#finish();
      this.#done(undefined, message);
    } catch (error) {
      if (this.#finished) throw error;
      this.#fail(
        error instanceof Refusal ? error : new Refusal("agent_request_invalid", "The message is not valid JSON."),
      );
    }
  }

  ended(): void {
    this.#fail(new Refusal("agent_request_invalid", "The message ends before its object does."));
  }

  drained(): void {}

  closed(error: Error | undefined): void {
    this.#fail(error ?? new Error("stream closed"));
  }

  #fail(error: Error): void {
    if (this.#finished) return;
    this.#finish();
    this.#done(error, {});
  }

  #finish(): void {
    this.#finished = true;
    this.#bytes.clear();
  }
}

/** Returns a member by its name in any case, because SDKs use different spellings (§4). */
export function readMember(object: JsonObject, name: string): unknown {
  if (Object.hasOwn(object, name)) return object[name];
  const key = memberKey(object, name);
  return key === undefined ? undefined : object[key];
}

/** Returns the object's spelling of `name`. */
export function memberKey(object: JsonObject, name: string): string | undefined {
  let keys = keysOf.get(object);
  if (!keys) {
    keys = new Map();
    // The first of several spellings wins.
    for (const key of Object.keys(object)) {
      const lower = key.toLowerCase();
      if (!keys.has(lower)) keys.set(lower, key);
    }
    keysOf.set(object, keys);
  }
  return keys.get(name.toLowerCase());
}

/**
 * Keys of an object by their lower-case form, because a message is read by many names. Message objects do not change.
 */
const keysOf = new WeakMap<JsonObject, Map<string, string>>();

/** Returns a string member, "" if absent or null. Throws `Refusal` if it has another type or is too long. */
export function textMember(object: JsonObject, name: string, maxBytes: number): string {
  const value = readMember(object, name) ?? "";
  if (typeof value !== "string") throw new Refusal("agent_request_invalid", `"${name}" is not a string.`);
  if (Buffer.byteLength(value) > maxBytes) {
    throw new Refusal("agent_request_invalid", `"${name}" is longer than ${maxBytes} bytes.`);
  }
  return value;
}

/** Returns an object member, empty if absent or null. */
export function objectMember(object: JsonObject, name: string): JsonObject {
  const value = readMember(object, name) ?? {};
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new Refusal("agent_request_invalid", `"${name}" is not an object.`);
  }
  return value as JsonObject;
}

/** Returns a whole number of 0 or more, 0 if absent or null. */
export function countMember(object: JsonObject, name: string): number {
  const value = readMember(object, name) ?? 0;
  if (typeof value !== "number" || !(value >= 0)) {
    throw new Refusal("agent_request_invalid", `"${name}" is not a number of 0 or more.`);
  }
  return Math.floor(value);
}
