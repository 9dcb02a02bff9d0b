import type { AddressFacts } from "../../geo/address-book.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Moment, Moments } from "../../lib/moments.ts";
import type { RosterMember, Roster } from "../../lib/collections/roster.ts";
import type { WindowReserve } from "../../lib/io/receive-window.ts";
import { spliceLingerMs } from "../../lib/io/splice.ts";
import type { ResponseRead } from "../../http1/read-response.ts";
import type { ConnectionFacts } from "../../traffic/connection-facts.ts";
import type { Visitor } from "../../traffic/visitor.ts";
import type { Step } from "../../traffic/step.ts";
import type { ServingTunnel } from "../../routing/planes/edge-questions.ts";
import type { CompiledRoute, Site } from "../../routing/sites/compiled-site.ts";
import type { ExchangeTrace, RequestTracing } from "./exchange-trace.ts";
import type { TrafficId } from "../../lib/traffic-ids.ts";
import type { ClientConnection } from "./visitor-connection.ts";
import type { HttpCounters } from "./http-counters.ts";
import type { OwnedPaths } from "./owned-paths.ts";
import type { ReceivedRequest } from "./received-request.ts";
import type { Deadlines } from "../../lib/deadlines.ts";
import type { UpstreamLimits } from "../upstreams/upstream-context.ts";
import type { RequestUpstreams } from "../upstreams/request-upstreams.ts";

/** State shared by all connections of an edge. Created once. */
export interface HttpContext {
  readonly log: Log;
  /** Locations of clients, for rules. Default: unknown. */
  readonly addresses?: AddressFacts | undefined;
  readonly clock: Clock;
  /** Clock for the times of each request. */
  readonly moments: Moments;
  readonly deadlines: Deadlines;
  readonly limits: HttpLimits;
  readonly counters: HttpCounters;
  readonly upstreams: Pick<RequestUpstreams, "choose">;
  /** Absent if there are no internal endpoints. */
  readonly internalSite?: InternalSites;
  /**
   * Returns a random number from 0 up to, but not including, 1, to choose among endpoints of one URL. Default:
   * `Math.random`.
   */
  readonly random?: () => number;
  /** Open connections, which are drained when the edge stops. */
  readonly connections: Roster<ServedConnection>;
  /** Maximum total growth of the windows of all HTTP/2 uploads beyond their initial sizes. */
  readonly uploadWindows: WindowReserve;
  /** Public port of each scheme. Default: 443 and 80. */
  readonly advertisedPort: { readonly https: number; readonly http: number };
  /** Whether a Host may name the scheme's default port although no site advertises it. */
  readonly takesDefaultPorts?: boolean;
  /** Paths that the edge answers before any route. */
  readonly owned?: OwnedPaths;
  /** Whether the operator allows encoded slashes if routes or rules distinguish paths. */
  readonly allowEncodedSlashes?: boolean;
  /**
   * Whether a peer is a trusted proxy. Its X-Forwarded-* fields are kept, extended and used for a request's source
   * (R3).
   */
  readonly trustsProxy: ((source: string) => boolean) | undefined;
  /** The configuration in effect. */
  readonly configuration?: { readonly revision: number };
  /** Returns how many bytes of the request's body are captured. Absent without capture. */
  readonly capturedBytes?:
    | ((exchange: Pick<FinishedExchange, "routeId" | "siteId" | "accountId" | "route">) => number)
    | undefined;
  /** Absent without tracing. */
  readonly tracing?: RequestTracing | undefined;
  /** Called when a module of a route has thrown. */
  readonly routeFailed?: (route: CompiledRoute, error: unknown) => void;
  /**
   * Called when an exchange is over. The argument is the exchange itself, so the callee must copy data before it
   * returns.
   */
  readonly finished: ((exchange: FinishedExchange) => void) | undefined;
}

/** Returns the site that is currently configured for a lower-case host name. The TLS handshake uses the same lookup. */
export type SiteLookup = (host: string) => Site | undefined;

/** Returns an internal endpoint of an account by its name, see `nameOf`. */
export type InternalSites = (accountId: string, name: string) => Site | undefined;

export interface ServedConnection extends RosterMember {
  /** Whether the client may be sending a request now, because it has not been told to reconnect. */
  readonly mayBeAsked: boolean;
  /** Tells the client, with its next response, to reconnect. Serves requests until then. */
  retire(): void;
  /** Finishes the requests in flight, tells the client if the protocol can, and closes. */
  drain(): void;
  /** Closes WebSockets with a close frame. Returns whether there are any. Other exchanges continue. */
  leave(): boolean;
  /** Closes immediately. */
  destroy(): void;
}

export interface FinishedExchange {
  readonly id: string;
  /** The same as `id`, as bytes. */
  readonly requestId: TrafficId;
  readonly method: string;
  readonly host: string;
  /** Path as matched. "" if the request was refused before it was parsed. */
  readonly path: string;
  /** 0 if the client got no response head. */
  readonly status: number;
  /** Account of the site. */
  readonly accountId: string | undefined;
  readonly siteId: string | undefined;
  readonly routeId: string | undefined;
  readonly route: CompiledRoute | undefined;
  readonly source: string;
  readonly connection: ConnectionFacts;
  /** The connection that carried it. */
  readonly shared: Pick<ClientConnection, "noted">;
  /** When its head was read, milliseconds since 1970. */
  readonly receivedAt: number;
  readonly arrival: Moment;
  /** Its place in a trace. Without tracing undefined. */
  trace: ExchangeTrace | undefined;
  /** When the edge began to choose an upstream, and when it sent the request there; with tracing. See `Clock.monotonic`. */
  readonly chosenAt: number | undefined;
  readonly sentAt: number | undefined;
  /** When each of `steps` had decided, by its index; with tracing, and only for steps of modules and refusals. */
  readonly stepEnds: readonly number[] | undefined;
  /** Revision of the configuration when its head was read. */
  readonly revision: number;
  /** Request as forwarded. Modules may have changed its fields; `headers.received()` has the client's. */
  readonly request: Pick<
    ReceivedRequest,
    "scheme" | "httpVersion" | "websocket" | "headers" | "target" | "hostField" | "upgrade"
  >;
  /** Start of the body, if it is captured. */
  readonly capturedBody: Buffer | undefined;
  /** Last response head of the upstream. `fields.received()` has the upstream's fields. */
  readonly responded: Pick<ResponseRead, "status" | "fields"> | undefined;
  /** The user who was logged in. */
  readonly login?: Visitor | undefined;
  /** Entries that rules of a traffic policy have logged. */
  readonly logs?: readonly Readonly<Record<string, unknown>>[] | undefined;
  /** Number of body bytes from and to the client. */
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly durationMs: number;
  /**
   * Time from forwarding the request until the upstream's response began, milliseconds. Undefined without a response.
   */
  readonly waitedMs: number | undefined;
  /** Last tunnel that the request was sent through. Undefined if it was sent through none. */
  readonly tunnel: ServingTunnel | undefined;
  /** Whether either side cut the response short. */
  readonly cutShort: boolean;
  readonly steps: readonly Step[];
}

export interface HttpLimits extends UpstreamLimits {
  /** Maximum length of the request target, bytes. Longer targets get 414. */
  readonly maxTargetBytes: number;
  /** Maximum length of a request body, bytes. Longer bodies get 413. Infinity means no limit. */
  readonly maxBodyBytes: number;
  /**
   * Maximum number of body bytes that wait at the edge in total. One account may use half of it, one connection a
   * quarter. Beyond it, requests get 503, and responses to slow clients are cut.
   */
  readonly maxHeldBytes: number;
  /** Maximum time from the first byte of a head to its last, and from accept to the first byte. */
  readonly headTimeoutMs: number;
  /** Maximum time between requests on a kept-alive connection. */
  readonly keepAliveMs: number;
  /**
   * Minimum rate of a request body, measured over `bodyWindowMs`, and of an HTTP/2 response, measured over
   * `writeTimeoutMs`. A slower transfer is cut.
   */
  readonly minBodyBytesPerSecond: number;
  readonly bodyWindowMs: number;
  /** Maximum time without the client reading any of the bytes sent to it. */
  readonly writeTimeoutMs: number;
  /** Maximum age of a connection. An older connection is closed after its current response. */
  readonly maxConnectionAgeMs: number;
}

/** Size of an edge's `uploadWindows` (D1), bytes. */
export const uploadReserveBytes = 64 * 1024 * 1024;

export const defaultLimits: HttpLimits = {
  maxHeadBytes: 32 * 1024,
  maxFields: 128,
  maxTargetBytes: 16 * 1024,
  maxBodyBytes: Infinity,
  maxHeldBytes: 256 * 1024 * 1024,
  headTimeoutMs: 10_000,
  keepAliveMs: 75_000,
  minBodyBytesPerSecond: 64,
  bodyWindowMs: 10_000,
  writeTimeoutMs: 60_000,
  idleTimeoutMs: 3_600_000,
  lingerMs: spliceLingerMs,
  maxConnectionAgeMs: 3_600_000,
  upstreamTimeoutMs: 300_000,
  openTimeoutMs: 60_000,
  maxIdleStreams: 128,
  idleStreamMs: 30_000,
  surplusStreamMs: 2_000,
  sureStreamMs: 1_000,
};
