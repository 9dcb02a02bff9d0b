import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Moments } from "../../lib/moments.ts";
import type { Listed, Roster } from "../../lib/collections/roster.ts";
import type { WindowReserve } from "../../lib/io/receive-window.ts";
import { spliceLingerMs } from "../../lib/io/splice.ts";
import type { ConnectionFacts, RequestHead } from "../../traffic/exchange.ts";
import type { Visitor } from "../../traffic/login.ts";
import type { Step } from "../../traffic/step.ts";
import type { ServingTunnel } from "../../routing/planes/questions.ts";
import type { CompiledRoute, Site } from "../../routing/sites/compiled.ts";
import type { HttpCounters } from "./counters.ts";
import type { OwnedPaths } from "./owned-paths.ts";
import type { Deadlines } from "../../lib/deadlines.ts";
import type { UpstreamLimits } from "../upstreams/context.ts";
import type { RequestUpstreams } from "../upstreams/request-upstreams.ts";

/** Everything that the connections of an edge share. Made once. */
export interface HttpContext {
  readonly log: Log;
  readonly clock: Clock;
  /** The clock, for what each request asks it. */
  readonly moments: Moments;
  readonly deadlines: Deadlines;
  readonly limits: HttpLimits;
  readonly counters: HttpCounters;
  readonly upstreams: Pick<RequestUpstreams, "choose">;
  /** Absent where there are none. */
  readonly internalSite?: InternalSites;
  /** 0 up to, and without, 1: chooses among endpoints of one URL. `Math.random` unless given. */
  readonly random?: () => number;
  /** Connections being served: those that are drained when the edge stops. */
  readonly connections: Roster<ServedConnection>;
  /** By how much the windows of all uploads over HTTP/2 may exceed their first sizes. */
  readonly uploadWindows: WindowReserve;
  /** The port that the world sees for each scheme: 443 and 80, unless configured otherwise. */
  readonly advertisedPort: { readonly https: number; readonly http: number };
  /** Whether a Host may name the scheme's default port although no site advertises it. */
  readonly takesDefaultPorts?: boolean;
  /** Paths that are answered before any route. */
  readonly owned?: OwnedPaths;
  /** Whether the operator allows encoded slashes where routes or rules tell paths apart. */
  readonly allowEncodedSlashes?: boolean;
  /** Peers that a request's source is taken from, and whose X-Forwarded-* are kept and extended (R3). */
  readonly trustsProxy: ((source: string) => boolean) | undefined;
  /** Told when a module of a route has thrown. */
  readonly routeFailed?: (route: CompiledRoute, error: unknown) => void;
  /**
   * Told of every exchange when it is over. The object is the exchange itself: take what is needed before
   * returning. Undefined: nobody is told.
   */
  readonly finished: ((exchange: FinishedExchange) => void) | undefined;
}

/** The site that is configured for a lower-case host name now; what the TLS handshake chose by is the same. */
export type SiteLookup = (host: string) => Site | undefined;

/** An internal endpoint of an account, by its name, see `nameOf`. */
export type InternalSites = (accountId: string, name: string) => Site | undefined;

export interface ServedConnection extends Listed {
  /** Its client has not been told to connect anew, and may be asking at this moment. */
  readonly mayBeAsked: boolean;
  /** Says to the client, with what it is answered next, that it should connect anew; serves what comes until then. */
  retire(): void;
  /** Finishes what is in flight, says so to the client where the protocol can, and closes. */
  drain(): void;
  /** Closes at once. */
  destroy(): void;
}

export interface FinishedExchange {
  readonly id: string;
  readonly method: string;
  readonly host: string;
  /** As matched; "" when the request was refused before it had one. */
  readonly path: string;
  /** 0 when the client got no response head. */
  readonly status: number;
  /** Of the site. */
  readonly accountId: string | undefined;
  readonly siteId: string | undefined;
  readonly routeId: string | undefined;
  readonly source: string;
  readonly connection: ConnectionFacts;
  /** As it was forwarded: modules may have changed its fields. */
  readonly request: Pick<RequestHead, "scheme" | "httpVersion" | "websocket" | "headers">;
  /** Who was logged in. */
  readonly login?: Visitor | undefined;
  /** What rules of a traffic policy have noted. */
  readonly logs?: readonly Readonly<Record<string, unknown>>[] | undefined;
  /** Body bytes from the client, and to it. */
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly durationMs: number;
  /** From its being sent on until its upstream's answer began, milliseconds; undefined where none did. */
  readonly waitedMs: number | undefined;
  /** The last that it was sent through; undefined where it was sent through none. */
  readonly tunnel: ServingTunnel | undefined;
  /** The response was cut short, by whichever side. */
  readonly cutShort: boolean;
  readonly steps: readonly Step[];
}

export interface HttpLimits extends UpstreamLimits {
  /** Request target. Beyond it 414. */
  readonly maxTargetBytes: number;
  /** Whole request bodies beyond this are refused with 413; Infinity for none. */
  readonly maxBodyBytes: number;
  /**
   * Bytes of bodies that wait at the edge, all together: half of it for one account, a quarter for one connection. Beyond
   * it requests get 503, and responses that their client does not take are cut.
   */
  readonly maxHeldBytes: number;
  /** From the first byte of a head to its last, and from accept to the first byte. */
  readonly headTimeoutMs: number;
  /** Between requests on a kept connection. */
  readonly keepAliveMs: number;
  /**
   * A request body slower than this, over `bodyWindowMs`, is given up, and so is a response over HTTP/2 of which its
   * client takes less, over `writeTimeoutMs`.
   */
  readonly minBodyBytesPerSecond: number;
  readonly bodyWindowMs: number;
  /** How long a client may read nothing of what is sent to it. */
  readonly writeTimeoutMs: number;
  /** After this age a connection is closed behind the response that it is at. */
  readonly maxConnectionAgeMs: number;
}

/** Of `uploadWindows` of an edge (D1). */
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
  sureStreamMs: 1_000,
};
