/**
 * The directory: which edge has which session and tunnel, as the control plane tells it to the others, and the claims
 * of public names that rest on it. Plain JSON, since it crosses links and may be kept in a database.
 */
import type { SessionReport } from "./messages.ts";

export type DirectoryNews =
  /** An edge is there, of another server if a `node` is named. What it holds comes next, and then `told`. */
  | { readonly what: "edge"; readonly edgeId: string; readonly address: string; readonly node?: string }
  /** Everything that the edge holds has been told: what it held before, and was not told again, is over. */
  | { readonly what: "told"; readonly edgeId: string }
  /** All edges that there are, but the one that is told: every other one has gone, with what it held. */
  | { readonly what: "edges"; readonly edgeIds: readonly string[] }
  /** The edge is no more, nor is anything that it held. */
  | { readonly what: "gone"; readonly edgeId: string }
  | { readonly what: "session"; readonly edgeId: string; readonly session: SessionReport }
  | { readonly what: "session_closed"; readonly edgeId: string; readonly sessionId: string }
  /** Something else on its machine listens there. */
  | { readonly what: "port_occupied"; readonly edgeId: string; readonly port: number }
  /** New, or changed. */
  | { readonly what: "tunnel"; readonly edgeId: string; readonly tunnel: SharedTunnel }
  | {
      readonly what: "tunnel_closed";
      readonly edgeId: string;
      readonly tunnelId: string;
      /** What is under way through it may end by itself. */
      readonly finishes: boolean;
    };

/** What an edge has to know of another edge's tunnel to serve its visitors, modules included. */
export interface SharedTunnel {
  readonly id: string;
  readonly sessionId: string;
  readonly accountId: string;
  readonly forwardsTo: string;
  readonly metadata: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly http2: boolean;
  readonly proxyProtocol: 0 | 1 | 2;
  /** Its agent wants to know how long requests took at the edge. */
  readonly wantsTimes?: boolean;
  /** For backends. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly endpoint?: {
    /** Claimed; undefined where it was published without a control plane. */
    readonly name: string;
    readonly pool?: string;
    readonly host: string;
    readonly port: number;
    /**
     * What the agent's Bind has asked for, as JSON: there are secrets in it (passwords, keys of webhooks and TLS). It is
     * a text of its own so that a link which leaves the process can seal it; nobody between edges reads it.
     */
    readonly request: string;
  };
}

export interface Claim {
  /** Of a host (see `nameOf`), with its account where it is internal, or `:` and a port. */
  readonly name: string;
  readonly tunnelId: string;
  readonly accountId: string;
  /** What may serve the name beside others of its account that ask for the same. */
  readonly pool?: string;
  /** Tunnels that are known to serve the name, and make way for this one. */
  readonly replaces: readonly string[];
}

/**
 * `granted`: the name is this tunnel's, until it is closed or the claim dropped; those that it replaces are closed once
 * it is open. `conflict`: somebody else serves it, of whom the edge has been told by now. `unasked`: the other nodes
 * cannot be asked.
 */
export type ClaimAnswer = "granted" | "conflict" | "unasked";
