/** A captured request: what the decision about it depended on, and how it came out. Plain data. */
import type { HeaderPairs } from "../traffic/header-list.ts";
import type { ExchangeOutcome, ServingTunnel, StepReport } from "../routing/planes/edge-questions.ts";

export interface CapturedRequest {
  readonly id: string;
  /** When its head was read, microseconds since 1970. */
  readonly receivedAt: number;
  readonly nodeId: string;
  /** Number of the edge thread of the node. */
  readonly edge: number;
  readonly accountId: string;
  readonly siteId: string;
  readonly routeId: string | undefined;
  /** Revision of the configuration that decided. */
  readonly revision: number;
  readonly request: {
    readonly method: string;
    readonly scheme: "https" | "http";
    readonly httpVersion: "1.0" | "1.1" | "2";
    /** The Host field or `:authority` as received. */
    readonly authority: string;
    /** Path and query as received. */
    readonly target: string;
    /** Canonical path, which routes and modules judged. */
    readonly path: string;
    /** Fields as received, in order. Secret values are replaced by keyed hashes. */
    readonly headers: HeaderPairs;
    /** Names of the fields whose values are hashes, lower case. */
    readonly redacted: readonly string[];
    /** Beginning of the body. Undefined if capturing bodies is off. */
    readonly body: Buffer | undefined;
    readonly websocket: boolean;
    readonly upgrade: string;
  };
  readonly connection: {
    readonly source: string;
    readonly sourcePort: number;
    readonly localAddress: string | undefined;
    readonly localPort: number;
    /** Milliseconds since 1970. */
    readonly startedAt: number;
    /** Undefined on plain connections. */
    readonly tls:
      | {
          readonly version: string;
          readonly cipher: string;
          readonly serverName: string;
          readonly alpn: string;
          readonly offeredAlpn: readonly string[];
          readonly ja4: string;
          /** The client certificate, DER. Stored once per block of the segment. */
          readonly clientCertificate: Buffer | undefined;
        }
      | undefined;
  };
  /** The logged-in visitor. Never a cookie or token. */
  readonly visitor:
    | {
        readonly module: string;
        readonly clientId: string;
        readonly userId: string;
        readonly sessionId: string;
        readonly email: string;
        readonly emailVerified: boolean;
        readonly name: string;
        readonly groups: readonly string[];
      }
    | undefined;
  readonly decision: {
    readonly steps: readonly StepReport[];
    readonly outcome: ExchangeOutcome;
    /** 0 if the client got no response head. */
    readonly status: number;
    readonly errorCode: string | undefined;
    /** Id of the backend that served it. */
    readonly backendId: string | undefined;
    readonly tunnel: ServingTunnel | undefined;
  };
  /** Undefined if no upstream responded. */
  readonly upstream:
    | {
        readonly status: number;
        /** Fields as the upstream sent them; secret values are replaced by keyed hashes. */
        readonly headers: HeaderPairs;
        /** From forwarding to the first byte of the response, milliseconds. */
        readonly waitedMs: number;
      }
    | undefined;
  readonly durationMs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly cutShort: boolean;
}
