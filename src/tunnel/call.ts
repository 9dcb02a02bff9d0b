/** A question on a stream of its own: type and one JSON object there, one JSON object back (§4). */
import type { Clock } from "../lib/clock.ts";
import type { Mux } from "./mux/mux.ts";
import { discard } from "./mux/stream.ts";
import type { MuxStream } from "./mux/stream.ts";
import { JsonReceiver } from "./json-message.ts";
import type { JsonObject } from "./json-message.ts";

/** Largest message, bytes (A11). */
export const maxMessageBytes = 1024 * 1024;

/** The answer did not come in time. */
export class CallTimeout extends Error {}

/** Told once, in the turn in which the answer came, so that nothing that follows it can be seen first. */
export type Answered = (error: Error | undefined, answer: JsonObject) => void;

/** Asks. The stream is ended when the answer is there, because an end before it confuses some agents (§4.5). */
export function call(
  mux: Mux,
  clock: Clock,
  type: number,
  question: JsonObject,
  timeoutMs: number,
  answered: Answered,
): void {
  const stream = mux.open();
  if (!stream) {
    answered(new Error("session closed"), {});
    return;
  }
  let told = false;
  const timer = clock.after(timeoutMs, () => tell(new CallTimeout(`no answer within ${timeoutMs} ms`), {}));
  const tell = (error: Error | undefined, answer: JsonObject): void => {
    if (told) return;
    told = true;
    timer.cancel();
    stream.receiver = discard;
    if (error) stream.abort();
    else stream.end();
    answered(error, answer);
  };
  stream.receiver = new JsonReceiver(stream, maxMessageBytes, tell);
  stream.write(renderMessage(type, question));
}

/** Type and object in one frame. */
export function renderMessage(type: number, message: JsonObject): Buffer {
  const text = JSON.stringify(message);
  const bytes = Buffer.allocUnsafe(4 + Buffer.byteLength(text));
  bytes.writeUInt32BE(type);
  bytes.write(text, 4);
  return bytes;
}

/** Answers and ends: Rust agents read to the end of the stream (§4). */
export function answer(stream: MuxStream, message: JsonObject): void {
  stream.receiver = discard;
  stream.write(Buffer.from(JSON.stringify(message)));
  stream.end();
}

/** Streams whose question was answered, and that the peer has not ended yet. Only so many are put up with. */
export class AnsweredStreams {
  readonly #max: number;
  #streams: MuxStream[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  add(stream: MuxStream): void {
    this.#streams = this.#streams.filter((one) => !one.over);
    this.#streams.push(stream);
    if (this.#streams.length > this.#max) this.#streams.shift()?.abort();
  }
}
