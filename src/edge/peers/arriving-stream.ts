import { runUnattended } from "../../lib/boundary.ts";
import type { ByteReceiver, ByteStream } from "../../lib/io/byte-stream.ts";
import type { Relayed, RelayedAnswer } from "../../routing/planes/messages.ts";
import { spliceStreams } from "../../lib/io/splice.ts";
import { ProtocolViolation, errorCode } from "../../tunnel/mux/frame.ts";
import type { MuxStream } from "../../tunnel/mux/mux-stream.ts";
import type { NoStream, PendingStream, ProxyHeader, TakeStream } from "../../tunnel/server-hooks.ts";
import { maxRequestBytes, parsePeerRequest, peerAnswer } from "./peer-request.ts";

/** Services of an edge for its peers. It only uses what it holds itself and forwards nothing to a third edge. */
export interface PeerHost {
  /**
   * Like `AgentSession.openProxy`, for this edge's tunnel that the header names. Returns `tunnel_gone` if it is
   * unknown.
   */
  openProxy(header: ProxyHeader, take: TakeStream): PendingStream | undefined;
  /** Like `AgentSession.ask`, for a session of this edge. */
  ask(sessionId: string, done: (isThere: boolean) => void): void;
  /** Like `AgentSession.tellTimes`, for a session of this edge. Ignored if the session has ended. */
  tellTimes(sessionId: string, times: string): void;
  /** Answers a question of another node's control plane. Never rejects. */
  answer(message: Relayed): Promise<RelayedAnswer>;
}

const answers = Object.fromEntries(
  Object.entries(peerAnswer).map(([name, byte]) => [name, Buffer.of(byte)]),
) as Readonly<Record<keyof typeof peerAnswer, Buffer>>;

/**
 * A stream opened by another edge. Reads and answers its request, and connects a tunnel request to the tunnel's stream.
 */
export class ArrivingStream implements ByteReceiver {
  readonly #stream: MuxStream;
  readonly #host: PeerHost;
  #head: Buffer = Buffer.alloc(0);
  #isRead = false;
  #isOver = false;
  #pending: PendingStream | undefined;

  constructor(stream: MuxStream, host: PeerHost) {
    this.#stream = stream;
    this.#host = host;
  }

  data(bytes: Buffer): void {
    if (this.#isRead) throw new ProtocolViolation(errorCode.protocol, "bytes before the answer");
    this.#stream.consumed(bytes.length);
    const head = this.#head.length === 0 ? bytes : Buffer.concat([this.#head, bytes]);
    this.#head = head;
    if (head.length < 4) return;
    const length = head.readUInt32BE();
    if (length > maxRequestBytes || head.length > length + 4) {
      throw new ProtocolViolation(errorCode.protocol, "no request of an edge");
    }
    if (head.length < length + 4) return;
    this.#isRead = true;
    this.#carryOut(head.toString("utf8", 4));
  }

  ended(): void {
    // The answer is unused, because the line was cut or the request withdrawn.
    this.#stream.abort();
  }

  drained(): void {}

  closed(): void {
    this.#isOver = true;
    this.#pending?.withdraw();
  }

  #carryOut(text: string): void {
    const request = requestOf(text);
    if (!request) return this.#answer(answers.gone);
    if (request.name === "ask") {
      this.#host.ask(request.sessionId, (isThere) => this.#answer(isThere ? answers.opened : answers.gone));
      return;
    }
    if (request.name === "times") {
      this.#host.tellTimes(request.sessionId, request.times);
      return this.#answer(answers.opened);
    }
    if (request.name === "relay") {
      const answered = this.#host.answer(request.message).then((answer) => {
        this.#answer(Buffer.concat([answers.opened, Buffer.from(JSON.stringify(answer))]));
      });
      runUnattended("message", answered, () => this.#stream.abort());
      return;
    }
    this.#pending = this.#host.openProxy(request.header, (stream, why) => this.#join(stream, why));
  }

  #join(stream: ByteStream | undefined, why: NoStream | undefined): void {
    this.#pending = undefined;
    if (this.#isOver) {
      stream?.abort();
      return;
    }
    if (!stream) return this.#answer(why === "tunnel_busy" ? answers.busy : answers.gone);
    this.#stream.write(answers.opened);
    spliceStreams(this.#stream, stream);
  }

  #answer(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#stream.write(bytes);
    this.#stream.end();
  }
}

/** G6: nodes only send valid requests, so anything else ends the line. */
function requestOf(text: string): ReturnType<typeof parsePeerRequest> {
  try {
    return parsePeerRequest(text);
  } catch {
    throw new ProtocolViolation(errorCode.protocol, "no request of an edge");
  }
}
