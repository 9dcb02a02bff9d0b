/** One proxied connection: the bytes of a tunnel stream and of a socket to the service, each handed to the other. */
import type { ByteReceiver, ByteStream } from "../lib/byte-stream.ts";
import type { Clock } from "../lib/clock.ts";
import { catalogue } from "../lib/errors.ts";
import { socketStream } from "../lib/socket-stream.ts";
import type { RequestWatch } from "./request-watch.ts";
import { dialUpstream } from "./upstream.ts";
import type { Upstream } from "./upstream.ts";

/** How long the server may take to close a stream whose service could not be reached, milliseconds. */
const lingerMs = 5_000;

export interface ForwardOptions {
  readonly upstream: Upstream;
  readonly clock: Clock;
  /** Whether a failure can be told in HTTP. */
  readonly http: boolean;
  readonly watch: RequestWatch | undefined;
  /** The service could not be reached. */
  readonly unreachable: (error: Error) => void;
}

/** Dials the service for `stream` and splices the two, with backpressure both ways and half-closes kept. */
export function forward(stream: ByteStream, options: ForwardOptions): void {
  const { upstream, watch } = options;
  const socket = dialUpstream(upstream);
  let connected = false;
  let tunnelOver = false;
  let failed = false;
  // Bytes taken from one side that the other has no room for yet: their credit is given when it has.
  let owedToTunnel = 0;
  let owedToService = 0;
  socket.once(upstream.tls ? "secureConnect" : "connect", () => (connected = true));

  const fromService: ByteReceiver = {
    data(bytes) {
      watch?.fromService(bytes);
      if (stream.write(bytes)) service.consumed(bytes.length);
      else owedToService += bytes.length;
    },
    ended: () => stream.end(),
    drained() {
      const owed = owedToTunnel;
      owedToTunnel = 0;
      if (owed > 0) stream.consumed(owed);
    },
    closed(error) {
      if (tunnelOver) return;
      if (!connected) refuse(error ?? new Error("the service closed the connection"));
      else if (error) stream.abort();
    },
  };
  const service = socketStream(socket, fromService);
  stream.receiver = {
    data(bytes) {
      watch?.fromServer(bytes);
      if (failed || service.write(bytes)) stream.consumed(bytes.length);
      else owedToTunnel += bytes.length;
    },
    ended: () => service.end(),
    drained() {
      const owed = owedToService;
      owedToService = 0;
      if (owed > 0) service.consumed(owed);
    },
    closed(error) {
      tunnelOver = true;
      // Cut short, or nobody is left to answer to; otherwise both ends were passed on and the socket closes by itself.
      if (error || !connected) service.abort();
      watch?.ended();
    },
  };

  const refuse = (error: Error): void => {
    failed = true;
    options.unreachable(error);
    if (options.http) {
      const answer = dialFailure(upstream, error);
      watch?.fromService(Buffer.from(answer, "latin1"));
      stream.writeLatin1(answer);
    }
    stream.end();
    const owed = owedToTunnel;
    owedToTunnel = 0;
    if (owed > 0) stream.consumed(owed);
    options.clock.after(lingerMs, () => {
      if (!tunnelOver) stream.abort();
    });
  };
}

function dialFailure(upstream: Upstream, error: Error): string {
  const reason = (error as NodeJS.ErrnoException).code ?? "no connection";
  const body = `The agent could not reach the service at ${upstream.text} (${reason}).\n`.replaceAll(
    /[^\x20-\x7e\n]/g,
    "?",
  );
  return [
    "HTTP/1.1 502 Bad Gateway",
    `postern-agent-error: ${catalogue.agent_dial_failed.number}`,
    "content-type: text/plain; charset=utf-8",
    `content-length: ${body.length}`,
    "connection: close",
    "",
    body,
  ].join("\r\n");
}
