/** How long requests took at the edge, as agents that ask for it are told (agent-protocol, "Between Postern's own agent and server"). */
import { AnsweredStreams } from "./call.ts";
import type { Mux } from "./mux/mux.ts";
import { streamType } from "./typed-stream.ts";

/** Lines that are told together, bytes. */
export const maxTimesBytes = 65_536;
/** Streams of them that the agent has not read yet: of one that reads none, the oldest go. */
const maxUnread = 8;

/** Of one request, milliseconds. */
export interface RequestTimes {
  /** From its head's arrival until it was sent on to the agent. */
  readonly edgeMs: number;
  /** From then until its answer began to come back. */
  readonly waitMs: number;
}

/** A line: the request's id and both times in microseconds. */
export function timesLine(requestId: string, { edgeMs, waitMs }: RequestTimes): string {
  return `${requestId} ${Math.round(edgeMs * 1000)} ${Math.round(waitMs * 1000)}\n`;
}

/** Tells one agent. */
export class TimesTeller {
  readonly #mux: Mux;
  readonly #told = new AnsweredStreams(maxUnread);

  constructor(mux: Mux) {
    this.#mux = mux;
  }

  tell(lines: string): void {
    // What shows how quick everything is must not make a line slower that is full.
    const stream = this.#mux.outbox.jammed ? undefined : this.#mux.open();
    if (!stream) return;
    stream.write(rendered(lines));
    stream.end();
    this.#told.add(stream);
  }
}

/** What a stream that tells them carries: its type, and lines in ASCII. */
function rendered(lines: string): Buffer {
  const bytes = Buffer.allocUnsafe(4 + lines.length);
  bytes.writeUInt32BE(streamType.requestTimes);
  bytes.latin1Write(lines, 4);
  return bytes;
}

/** What the lines say of a request; undefined where that is nothing. */
export function findTimes(lines: Buffer, requestId: string): RequestTimes | undefined {
  const at = lines.lastIndexOf(`${requestId} `, lines.length, "latin1");
  if (at < 0) return undefined;
  const from = at + requestId.length + 1;
  const said = /^(\d{1,15}) (\d{1,15})\n/.exec(lines.toString("latin1", from, from + 40));
  return said ? { edgeMs: Number(said[1]) / 1000, waitMs: Number(said[2]) / 1000 } : undefined;
}
