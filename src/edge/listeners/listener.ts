import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { normaliseAddress } from "../../lib/address.ts";
import { runContained, runUnattended, guardListener, socketListener } from "../../lib/boundary.ts";
import type { AddressFacts } from "../../geo/address-book.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { Roster } from "../../lib/collections/roster.ts";
import { makeAdmission } from "./admission.ts";
import type { Admission } from "./admission.ts";
import { Arrival } from "./arrival.ts";
import type { ListenerLimits } from "./listener-limits.ts";
import { networksOf } from "../../lib/networks.ts";
import type { Networks } from "../../lib/networks.ts";
import { peekAtSocket } from "./peek.ts";
import { readProxyHeader } from "./proxy-protocol.ts";

export interface ListenAddress {
  /** Default: every address of the machine. */
  readonly host?: string | undefined;
  /** 0 for any free port. */
  readonly port: number;
}

/** Context of all listeners of an edge. */
export interface ListenerContext {
  /** Until this resolves, accepted connections wait, at most as long as for a ClientHello. Then they are closed. */
  readonly ready: Promise<void>;
  /** Whether other edges of this machine listen on the same ports. Each gets a part of the connections. */
  readonly isShared?: boolean | undefined;
  readonly limits: ListenerLimits;
  /** Locations of clients, for rules. Default: unknown. */
  readonly addresses?: AddressFacts | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Additional context of public listeners: the trusted proxies. */
export interface PublicListenerContext extends ListenerContext {
  /** Networks of proxies in CIDR notation, which begin each connection with a PROXY protocol header (R3). */
  readonly proxies?: readonly string[] | undefined;
  /** Forwarders of many clients. No limit per source applies to them. */
  readonly forwarders?: Networks | undefined;
}

export interface ListenerOptions extends PublicListenerContext {
  /** Name in logs and metrics: "https", "http", "agent", "tcp". */
  readonly name: string;
  readonly at: ListenAddress;
  /** Counts the connections of several listeners together. Default: separately. */
  readonly admission?: Admission | undefined;
  /** Receives an admitted connection: paused, half-open allowed, with an error listener (`close` follows errors). */
  accept(arrival: Arrival): void;
}

export interface Listener {
  readonly host: string;
  readonly port: number;
  /** Number of open connections. */
  readonly open: number;
  /** Stops accepting connections. Open ones continue. May be repeated. */
  close(): void;
  /** Closes everything immediately. */
  destroy(): void;
}

/** Maximum number of connections that wait for accept. The system may allow fewer. */
const backlog = 4096;
const acceptErrorLogMs = 10_000;

/** Listens for TCP connections within the limits. Rejects if the address is not available. */
export async function startListener(options: ListenerOptions): Promise<Listener> {
  const { name, at, limits, clock, metrics } = options;
  const admission = options.admission ?? makeAdmission(limits, () => clock.monotonic());
  const open = new Roster<Arrival>();
  const refused = (reason: string): void => {
    metrics
      .counter("postern_connections_refused_total", "Connections closed immediately.", { listener: name, reason })
      .add();
  };
  const accepted = metrics.counter("postern_connections_total", "Connections accepted.", { listener: name });
  const isCountedTogether = options.admission !== undefined;
  const count = (): number => (isCountedTogether ? admission.open : open.size);
  metrics.gauge("postern_connections_open", "Connections open.", count, { listener: name });

  let isReady = false;
  const opened = options.ready.then(() => {
    isReady = true;
  });
  const wait = async (arrival: Arrival): Promise<void> => {
    const { socket } = arrival;
    arrival.waitUntil(clock.after(limits.helloTimeoutMs, () => socket.destroy()));
    await opened;
    arrival.endWait();
    if (!socket.destroyed) beginArrival(arrival, options.accept);
  };
  const refuse = (socket: Socket, reason: string): void => {
    refused(reason);
    socket.destroy();
  };
  const enter = (arrival: Arrival): void => {
    const { socket, client } = arrival;
    const reason = arrival.admit(admission, options.forwarders?.(client.address) ? undefined : client.address);
    if (reason !== undefined) {
      refuse(socket, reason);
      return;
    }
    accepted.add();
    if (isReady) beginArrival(arrival, options.accept);
    else runUnattended("connection", wait(arrival), () => socket.destroy());
  };
  const enterProxied = (arrival: Arrival): void => {
    const { socket } = arrival;
    arrival.waitUntil(clock.after(limits.helloTimeoutMs, () => socket.destroy()));
    peekAtSocket(socket, (bytes) => {
      const read = readProxyHeader(bytes);
      if (read.state === "more") return read;
      arrival.endWait();
      if (read.state === "invalid") return { taken: 0, next: () => refuse(socket, "proxy_header") };
      const address = read.client && normaliseAddress(read.client.address);
      if (address !== undefined) arrival.client = { address, port: read.client?.port ?? 0 };
      return { taken: read.length, next: () => enter(arrival) };
    });
  };
  const proxies = networksOf(options.proxies ?? []);
  let localPort = at.port;
  const take = (socket: Socket): void => {
    socket.on("error", ignoreError);
    const address = normaliseAddress(socket.remoteAddress ?? "");
    if (address === undefined) {
      refuse(socket, "gone");
      return;
    }
    const peer = { address, port: socket.remotePort ?? 0 };
    const arrival = new Arrival(socket, peer, localPort, clock.now(), options.addresses);
    open.add(arrival);
    const close = (): void => {
      open.delete(arrival);
      arrival.closed();
    };
    socket.on("close", guardListener(socket, close));
    beginArrival(arrival, proxies?.(address) === true ? enterProxied : enter);
  };
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, socketListener(take));
  server.listen({
    ...(at.host !== undefined && { host: at.host }),
    port: at.port,
    backlog,
    reusePort: options.isShared === true,
  });
  await once(server, "listening");

  reportErrors(server, options, refused);
  const { address, port } = server.address() as AddressInfo;
  localPort = port;
  return {
    host: address,
    port,
    get open() {
      return open.size;
    },
    close() {
      if (server.listening) server.close();
    },
    destroy() {
      if (server.listening) server.close();
      for (const { socket } of open.members()) socket.destroy();
    },
  };
}

/** D4: if file descriptors run out, libuv closes the new connection. Open ones continue. */
function reportErrors(server: Server, { name, clock, log }: ListenerOptions, refused: (reason: string) => void): void {
  let loggedAt = -Infinity;
  server.on("error", (error) => {
    refused("accept_failed");
    if (clock.monotonic() - loggedAt < acceptErrorLogMs) return;
    loggedAt = clock.monotonic();
    log.error("connection not accepted", { listener: name, error });
  });
}

/** If `take` throws, only this connection ends. */
function beginArrival(arrival: Arrival, take: (arrival: Arrival) => void): void {
  if (!runContained("connection", () => take(arrival))) arrival.socket.destroy();
}

function ignoreError(): void {
  // `close` follows and is handled.
}
