/** A request on a separate stream: type and one JSON object as request, one JSON object as response (§4). */
import type { Clock } from "../lib/clock.ts";
import type { Mux } from "./mux/mux.ts";
import { discard } from "./mux/mux-stream.ts";
import type { MuxStream } from "./mux/mux-stream.ts";
import { JsonReceiver } from "./json-message.ts";
import type { JsonObject } from "./json-message.ts";

/** Maximum size of a message, bytes (A11). */
export const maxMessageBytes = 1024 * 1024;

/** The response did not arrive in time. */
export class CallTimeout extends Error {}

/** Called once, in the same turn as the response arrives, before any later message is processed. */
export type CallCallback = (error: Error | undefined, answer: JsonObject) => void;

/** Sends a request. The stream ends after the response, because an earlier end confuses some agents (§4.5). */
export function sendRequest(
  mux: Mux,
  clock: Clock,
  type: number,
  question: JsonObject,
  timeoutMs: number,
  answered: CallCallback,
): void {
  const stream = mux.open();
  if (!stream) {
    answered(new Error("session closed"), {});
    return;
  }
  let isSettled = false;
  const timer = clock.after(timeoutMs, () => tell(new CallTimeout(`no answer within ${timeoutMs} ms`), {}));
  const tell = (error: Error | undefined, answer: JsonObject): void => {
    if (isSettled) return;
    isSettled = true;
    timer.cancel();
    stream.receiver = discard;
    if (error) stream.abort();
    else stream.end();
    answered(error, answer);
  };
  stream.receiver = new JsonReceiver(stream, maxMessageBytes, tell);
  stream.write(renderMessage(type, question));
}

/** Returns type and object in one frame. */
export function renderMessage(type: number, message: JsonObject): Buffer {
  const text = JSON.stringify(message);
  const bytes = Buffer.allocUnsafe(4 + Buffer.byteLength(text));
  bytes.writeUInt32BE(type);
  bytes.write(text, 4);
  return bytes;
}

/** Sends a response and ends the stream: Rust agents read to the end of the stream (§4). */
export function sendResponse(stream: MuxStream, message: JsonObject): void {
  stream.receiver = discard;
  stream.write(Buffer.from(JSON.stringify(message)));
  stream.end();
}

/** Streams with a response that the peer has not ended yet. Their number is limited. */
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
