/** One JSON object on a stream whose sender does not end it, so that its end is found by its braces (§4). */
import type { ByteReceiver, ByteStream } from "../lib/io/byte-stream.ts";
import { Refusal } from "../lib/errors.ts";
import { GatheredBytes } from "../lib/gathered-bytes.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Finds where the first object ends, over any cuts. */
export class JsonEnd {
  #depth = 0;
  #inString = false;
  #escaped = false;

  /** The index after the closing brace; -1 when it is not in these bytes. Throws when no object begins. */
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

/** How many bytes the unfinished messages of a session may have, together. */
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

/** Collects one object, then calls `done` once: with it, or with the error. */
export class JsonReceiver implements ByteReceiver {
  readonly #stream: ByteStream;
  readonly #maxBytes: number;
  readonly #room: MessageRoom | undefined;
  /** Taken of the room; whoever is told of the message gives it back. */
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

/** A member by its name in any case: the SDKs do not agree on spellings (§4). */
export function member(object: JsonObject, name: string): unknown {
  if (Object.hasOwn(object, name)) return object[name];
  const key = memberKey(object, name);
  return key === undefined ? undefined : object[key];
}

/** How the object spells `name`. */
export function memberKey(object: JsonObject, name: string): string | undefined {
  let keys = keysOf.get(object);
  if (!keys) {
    keys = new Map();
    // The first of several spellings counts.
    for (const key of Object.keys(object)) {
      const lower = key.toLowerCase();
      if (!keys.has(lower)) keys.set(lower, key);
    }
    keysOf.set(object, keys);
  }
  return keys.get(name.toLowerCase());
}

/** The keys of an object by their lower case: a message is asked for many names. Objects of messages do not change. */
const keysOf = new WeakMap<JsonObject, Map<string, string>>();

/** A string member, "" when absent or null. Throws `Refusal` when it is of another type or too long. */
export function textMember(object: JsonObject, name: string, maxBytes: number): string {
  const value = member(object, name) ?? "";
  if (typeof value !== "string") throw new Refusal("agent_request_invalid", `"${name}" is not a string.`);
  if (Buffer.byteLength(value) > maxBytes) {
    throw new Refusal("agent_request_invalid", `"${name}" is longer than ${maxBytes} bytes.`);
  }
  return value;
}

/** An object member, empty when absent or null. */
export function objectMember(object: JsonObject, name: string): JsonObject {
  const value = member(object, name) ?? {};
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new Refusal("agent_request_invalid", `"${name}" is not an object.`);
  }
  return value as JsonObject;
}

/** A whole number of 0 or more, 0 when absent or null. */
export function countMember(object: JsonObject, name: string): number {
  const value = member(object, name) ?? 0;
  if (typeof value !== "number" || !(value >= 0)) {
    throw new Refusal("agent_request_invalid", `"${name}" is not a number of 0 or more.`);
  }
  return Math.floor(value);
}
