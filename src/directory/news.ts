/**
 * Entries of the directory: an edge, and the objects of an edge. All code that sends, stores or shares an entry uses
 * this shape. An entry is plain JSON, because it crosses links, and nodes share it in the database.
 */
import { internalKey, isInternalName } from "../lib/internal-names.ts";
import type { InternalScheme } from "../lib/internal-names.ts";
import { nameOf } from "../lib/plain-names.ts";
import { hostOf, hostportOf } from "./agent-reports.ts";
import type { SessionReport, TunnelReport } from "./agent-reports.ts";

/** An edge, and its address for other edges. */
export interface EdgeEntry {
  readonly what: "edge";
  readonly edgeId: string;
  readonly address: string;
  /** Server of the edge, if that is a different node. */
  readonly node?: string;
}

/** A program other than Postern listens on the port, on the machine of the edge. */
export interface PortEntry {
  readonly what: "port";
  readonly edgeId: string;
  readonly port: number;
}

export interface SessionEntry {
  readonly what: "session";
  readonly edgeId: string;
  readonly session: SessionReport;
}

export interface TunnelEntry {
  readonly what: "tunnel";
  readonly edgeId: string;
  /** For the management API. Edges do not receive it about other edges' tunnels. */
  readonly tunnel?: TunnelReport;
  /** For the other edges. A single edge does not send it. */
  readonly shared?: SharedTunnel;
}

export type DirectoryEntry = EdgeEntry | PortEntry | SessionEntry | TunnelEntry;

/** A tunnel entry as edges receive it. */
export type SharedEntry = TunnelEntry & { readonly shared: SharedTunnel };

/** Messages of the control plane to an edge about the other edges: entries and their ends. */
export type DirectoryNews =
  /** The edge's entries follow, and then `told`. */
  | EdgeEntry
  /** The edge has sent everything. Earlier entries that it did not send again have ended. */
  | { readonly what: "told"; readonly edgeId: string }
  /** All other edges. An edge that is not in the list has gone with all its entries. */
  | { readonly what: "edges"; readonly edgeIds: readonly string[] }
  /** The node of the edge is cut off from the database, or is a member of the cluster again. */
  | { readonly what: "away"; readonly edgeId: string; readonly isAway: boolean }
  /** The edge has gone with all its entries. */
  | { readonly what: "gone"; readonly edgeId: string }
  | PortEntry
  | SessionEntry
  | { readonly what: "session_closed"; readonly edgeId: string; readonly sessionId: string }
  /** New or changed. */
  | SharedEntry
  | {
      readonly what: "tunnel_closed";
      readonly edgeId: string;
      readonly tunnelId: string;
      /** Whether requests and connections in progress may finish. */
      readonly finishes: boolean;
    };

/** Data about another edge's tunnel that an edge needs to serve its visitors, including the modules. */
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
  /** Whether the agent requested the times of its requests at the edge. */
  readonly wantsTimes?: boolean;
  /** Labels for backends. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly endpoint?: {
    /** The claimed name, see `Claim`. */
    readonly name: string;
    readonly pool?: string;
    readonly host: string;
    readonly port: number;
    /**
     * What the agent's Bind requested, as JSON. It contains secrets: passwords, keys of webhooks and of TLS. It stays a
     * text so that a link that leaves the process can seal it. Only edges parse it.
     */
    readonly request: string;
  };
}

/** Returns an entry as edges receive it, or none for a tunnel that its edge does not share. */
export function newsOf(entry: DirectoryEntry): readonly DirectoryNews[] {
  if (entry.what !== "tunnel") return [entry];
  const { edgeId, shared } = entry;
  return shared ? [{ what: "tunnel", edgeId, shared }] : [];
}

/** Returns the name that the tunnel claims, see `Claim`; "" for a tunnel with labels. */
export function nameOfEntry({ tunnel, shared }: TunnelEntry): string {
  if (shared) return shared.endpoint?.name ?? "";
  if (!tunnel?.endpoint) return "";
  const { proto, publicUrl } = tunnel.endpoint;
  return nameAt(proto, hostportOf(publicUrl), tunnel.accountId);
}

/** Returns the name of an endpoint at a host and port. */
export function nameAt(proto: InternalScheme, hostport: string, accountId: string): string {
  const host = hostOf(hostport);
  const port = Number(hostport.slice(host.length + 1));
  if (isInternalName(host)) return nameOf(proto, internalKey({ scheme: proto, host, port }, accountId));
  return proto === "tcp" ? `:${port}` : nameOf(proto, host);
}
