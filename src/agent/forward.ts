/** One proxied connection: copies bytes between a tunnel stream and a socket to the service, in both directions. */
import type { ByteReceiver, ByteStream } from "../lib/io/byte-stream.ts";
import type { Clock } from "../lib/clock.ts";
import { readingIntoShared } from "../lib/io/read-buffers.ts";
import { socketStream } from "../lib/io/socket-stream.ts";
import { spliceStreams } from "../lib/io/splice.ts";
import { FirstAnswer } from "./first-answer.ts";
import { describeServiceFault } from "./service-fault.ts";
import { duplexOf } from "./stream-duplex.ts";
import type { StreamWatch } from "./stream-watch.ts";
import { unreachableResponse } from "./unreachable-response.ts";
import { dialUpstream } from "./upstream.ts";
import type { Upstream } from "./upstream.ts";

/** Time limit for the server to close a stream whose service could not be reached, milliseconds. */
const lingerMs = 5_000;

export interface ForwardOptions {
  readonly upstream: Upstream;
  readonly clock: Clock;
  /** Whether a failure can be reported as an HTTP response. */
  readonly http: boolean;
  readonly watch: StreamWatch | undefined;
  /** Whether the service may be probed for TLS when it ends connections without an answer. */
  readonly isWatched?: boolean;
  /** Called when the service cannot be reached. */
  readonly unreachable: (error: Error) => void;
}

/** Dials the service for `stream` and connects the two. */
export function forward(stream: ByteStream, options: ForwardOptions): void {
  const { upstream, clock, watch } = options;
  if (upstream.local) {
    const along = watch && {
      forth: (bytes: Buffer) => watch.fromServer(bytes, clock.monotonic()),
      back: (bytes: Buffer) => watch.fromService(bytes, clock.monotonic()),
      closed: (error: Error | undefined) => watch.ended(error),
    };
    upstream.local.serve(duplexOf(stream, along));
    return;
  }
  const socket = dialUpstream(upstream, readingIntoShared());
  const early = new Early(stream, watch, () => service.abort());
  stream.receiver = early;
  const unconnected: ByteReceiver = {
    data() {},
    ended() {},
    drained() {},
    closed(error) {
      if (!early.isOver) refuseVisitor(stream, early, options, error ?? new Error("the service closed the connection"));
    },
  };
  let isGiven = false;
  const service = socketStream(socket, unconnected, true);
  socket.once(upstream.tls ? "secureConnect" : "connect", () => {
    watch?.connected?.();
    spliceStreams(
      stream,
      service,
      watch && {
        // The watch has already seen the early bytes. The time is read once for all watches, because reading a clock
        // costs as much as each of them.
        forth: (bytes) => isGiven && watch.fromServer(bytes, clock.monotonic()),
        back: (bytes) => watch.fromService(bytes, clock.monotonic()),
        closed: (error) => watch.ended(error),
      },
    );
    if (options.http && !upstream.tls) watchFirstAnswer(stream, service, options);
    early.give();
    isGiven = true;
  });
}

/** Answers in place of a service that expects TLS but received a plain request. */
function watchFirstAnswer(stream: ByteStream, service: ByteStream, options: ForwardOptions): void {
  const { upstream, clock } = options;
  const toService = stream.receiver;
  let isAsked = false;
  stream.receiver = {
    // After the first bytes the decision is made, and the stream gets its receiver back.
    data(bytes) {
      isAsked = true;
      stream.receiver = toService;
      toService.data(bytes);
    },
    ended: () => toService.ended(),
    drained: () => toService.drained(),
    closed: (error) => toService.closed(error),
  };
  void new FirstAnswer({
    upstream,
    service,
    mayProbe: () => isAsked && options.isWatched === true,
    monotonic: () => clock.monotonic(),
    fail(error) {
      service.abort();
      const answer = new Early(stream, options.watch, () => {});
      stream.receiver = answer;
      refuseVisitor(stream, answer, options, error);
    },
  });
}

/** Bytes that arrive from the tunnel before the service is connected. The stream's window bounds them. */
class Early implements ByteReceiver {
  /** The stream has ended. */
  isOver = false;
  readonly #stream: ByteStream;
  readonly #watch: StreamWatch | undefined;
  readonly #gone: () => void;
  #held: Buffer[] | undefined = [];
  #hasEnded = false;

  constructor(stream: ByteStream, watch: StreamWatch | undefined, gone: () => void) {
    this.#stream = stream;
    this.#watch = watch;
    this.#gone = gone;
  }

  data(bytes: Buffer): void {
    this.#watch?.fromServer(bytes);
    if (this.#held) this.#held.push(bytes);
    else this.#stream.consumed(bytes.length);
  }

  ended(): void {
    this.#hasEnded = true;
  }

  drained(): void {}

  closed(error: Error | undefined): void {
    this.isOver = true;
    this.#gone();
    this.#watch?.ended(error);
  }

  /** Passes everything to the stream's new receiver. */
  give(): void {
    const { receiver } = this.#stream;
    for (const bytes of this.#held ?? []) receiver.data(bytes);
    if (this.#hasEnded) receiver.ended();
  }

  /** Discards everything, including what arrives later. */
  drop(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const bytes of held) this.#stream.consumed(bytes.length);
  }
}

/** Tells the visitor that there is no service, if the protocol allows it, and ends the stream. */
function refuseVisitor(stream: ByteStream, early: Early, options: ForwardOptions, error: Error): void {
  const { upstream, watch } = options;
  options.unreachable(error);
  if (options.http) {
    const answer = dialFailure(upstream, error);
    watch?.fromService(Buffer.from(answer, "latin1"));
    stream.writeLatin1(answer);
    stream.end();
  } else {
    // On a bare connection a normal end would look like a complete transfer.
    stream.abort();
  }
  early.drop();
  options.clock.after(lingerMs, () => {
    if (!early.isOver) stream.abort();
  });
}

function dialFailure(upstream: Upstream, error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  const what = code === undefined ? upstream.text : `${upstream.text} (${code})`;
  const reason = describeServiceFault(upstream, error);
  const body = `The agent could not reach the service at ${what}: ${reason}.\n`.replaceAll(/[^\x20-\x7e\n]/g, "?");
  return unreachableResponse(body);
}
