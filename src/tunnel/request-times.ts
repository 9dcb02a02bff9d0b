/**
 * Request times at the edge, for agents that request them (agent-protocol, "Between Postern's own agent and server").
 */
import { AnsweredStreams } from "./agent-call.ts";
import type { Mux } from "./mux/mux.ts";
import { streamType } from "./typed-stream.ts";

/** Maximum size of lines that are sent together, bytes. */
export const maxTimesBytes = 65_536;
/** Maximum number of streams that the agent has not read yet. Beyond it the oldest are dropped. */
const maxUnread = 8;
/** Maximum bytes after the request's id, without the second id. */
const maxTailBytes = 36;

/** What the edge reports about one request. Times are milliseconds. */
export interface RequestTimes {
  /** From the arrival of its head until it was sent to the agent. */
  readonly edgeMs: number;
  /** From then until the response began. */
  readonly waitMs: number;
  /** Code of the visitor's country, two capital letters. Undefined if it is unknown. */
  readonly country?: string | undefined;
}

/**
 * Returns a line: the request's id and both times in microseconds. A second line has the country and the id, in an order
 * that earlier agents skip.
 */
export function timesLine(requestId: string, { edgeMs, waitMs, country }: RequestTimes): string {
  const second = country ? `${country} ${requestId}\n` : "";
  return `${requestId} ${Math.round(edgeMs * 1000)} ${Math.round(waitMs * 1000)}\n${second}`;
}

/** Sends request times to one agent. */
export class TimesTeller {
  readonly #mux: Mux;
  readonly #told = new AnsweredStreams(maxUnread);

  constructor(mux: Mux) {
    this.#mux = mux;
  }

  tell(lines: string): void {
    // The request times must not slow down a congested connection.
    const stream = this.#mux.outbox.jammed ? undefined : this.#mux.open();
    if (!stream) return;
    stream.write(encodeTimes(lines));
    stream.end();
    this.#told.add(stream);
  }
}

/** Returns the content of a stream with request times: its type and ASCII lines. */
function encodeTimes(lines: string): Buffer {
  const bytes = Buffer.allocUnsafe(4 + lines.length);
  bytes.writeUInt32BE(streamType.requestTimes);
  bytes.latin1Write(lines, 4);
  return bytes;
}

/** Returns the times of a request in the lines, or undefined. */
export function findTimes(lines: Buffer, requestId: string): RequestTimes | undefined {
  const at = lines.lastIndexOf(`${requestId} `, lines.length, "latin1");
  if (at < 0) return undefined;
  const from = at + requestId.length + 1;
  const text = lines.toString("latin1", from, from + maxTailBytes + requestId.length);
  const [, edge, wait, country, id] = /^(\d{1,15}) (\d{1,15})\n(?:([A-Z]{2}) (\S+)\n)?/.exec(text) ?? [];
  if (edge === undefined) return undefined;
  return { edgeMs: Number(edge) / 1000, waitMs: Number(wait) / 1000, ...(id === requestId && { country }) };
}
