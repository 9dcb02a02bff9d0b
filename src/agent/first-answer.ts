import { runUnattended } from "../lib/boundary.ts";
import type { ByteReceiver, ByteStream } from "../lib/io/byte-stream.ts";
import { speaksTls, WantsTls } from "./service-fault.ts";
import type { Upstream } from "./upstream.ts";

/** Type of a TLS record that carries an alert. */
const alertRecord = 21;
const majorVersion = 3;

/** Services that have answered in plain text. They are never probed for TLS again. */
const plain = new WeakSet<Upstream>();

interface FirstAnswerOptions {
  readonly upstream: Upstream;
  readonly service: ByteStream;
  /** Whether the service may be probed for TLS: it has received some bytes. */
  readonly mayProbe: () => boolean;
  readonly monotonic: () => number;
  /** Answers the visitor in place of the service. */
  readonly fail: (error: Error) => void;
}

/**
 * Precedes a plain service's receiver until its first bytes. A TLS alert, or an end instead of an answer, can mean that
 * the service expects TLS. Everything else goes to the receiver, which then takes over.
 */
export class FirstAnswer implements ByteReceiver {
  readonly #options: FirstAnswerOptions;
  readonly #next: ByteReceiver;
  /** Events held back while the service is probed for TLS. */
  #held: (() => void)[] | undefined;
  /** The agent has answered, so the rest of the service's output is discarded. */
  #hasFailed = false;

  constructor(options: FirstAnswerOptions) {
    this.#options = options;
    this.#next = options.service.receiver;
    options.service.receiver = this;
  }

  data(bytes: Buffer): void {
    if (bytes[0] === alertRecord && bytes[1] === majorVersion) return this.#fail("it answered with a TLS alert");
    const { service, upstream } = this.#options;
    plain.add(upstream);
    service.receiver = this.#next;
    this.#next.data(bytes);
  }

  ended(): void {
    this.#hold(() => this.#next.ended());
  }

  drained(): void {
    this.#next.drained();
  }

  closed(error: Error | undefined): void {
    this.#hold(() => this.#next.closed(error));
  }

  #fail(message: string): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#options.fail(new WantsTls(message));
  }

  #hold(handOn: () => void): void {
    if (this.#hasFailed) return;
    if (this.#held) return void this.#held.push(handOn);
    const { upstream, mayProbe, monotonic } = this.#options;
    if (plain.has(upstream) || !mayProbe()) return handOn();
    const held = (this.#held = [handOn]);
    const probed = speaksTls(upstream, monotonic()).then((isTls) => {
      this.#held = undefined;
      if (isTls) return this.#fail("it ended the connection without an answer");
      this.#options.service.receiver = this.#next;
      for (const one of held) one();
    });
    runUnattended("stream", probed, () => this.#fail("it ended the connection without an answer"));
  }
}
