/**
 * Entries of the directory: an edge, and what an edge has. Every part of Postern that sends, stores or shares an entry
 * uses this shape. An entry is plain JSON: it crosses links, and nodes share it in the database.
 */
import { internalKey, isInternalName } from "../lib/internal-names.ts";
import type { InternalScheme } from "../lib/internal-names.ts";
import { nameOf } from "../lib/plain-names.ts";
import { hostOf, hostportOf } from "./reports.ts";
import type { SessionReport, TunnelReport } from "./reports.ts";

/** An edge, and where other edges reach it. */
export interface EdgeEntry {
  readonly what: "edge";
  readonly edgeId: string;
  readonly address: string;
  /** The server that the edge is part of, if that is a different node. */
  readonly node?: string;
}

/** A program that is not Postern listens on the port, on the machine of the edge. */
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
  /** For the management API. Edges do not receive it about one another's tunnels. */
  readonly tunnel?: TunnelReport;
  /** For the other edges. An edge that has no others does not send it. */
  readonly shared?: SharedTunnel;
}

export type Entry = EdgeEntry | PortEntry | SessionEntry | TunnelEntry;

/** A tunnel entry as edges receive it. */
export type SharedEntry = TunnelEntry & { readonly shared: SharedTunnel };

/** What the control plane sends to an edge about the other edges: entries, and the end of entries. */
export type DirectoryNews =
  /** What the edge has comes next, and then `told`. */
  | EdgeEntry
  /** The edge has sent everything. What it had before and did not send again has ended. */
  | { readonly what: "told"; readonly edgeId: string }
  /** All other edges. An edge that is not in the list has gone, with everything that it had. */
  | { readonly what: "edges"; readonly edgeIds: readonly string[] }
  /** The edge has gone, with everything that it had. */
  | { readonly what: "gone"; readonly edgeId: string }
  | PortEntry
  | SessionEntry
  | { readonly what: "session_closed"; readonly edgeId: string; readonly sessionId: string }
  /** New, or changed. */
  | SharedEntry
  | {
      readonly what: "tunnel_closed";
      readonly edgeId: string;
      readonly tunnelId: string;
      /** Requests and connections that already use the tunnel may finish. */
      readonly finishes: boolean;
    };

/** What an edge must know about another edge's tunnel to serve its visitors, including the modules. */
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
  /** The agent wants to know how long requests took at the edge. */
  readonly wantsTimes?: boolean;
  /** For backends. */
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

/** An entry as edges receive it: no news for a tunnel that its edge does not share. */
export function newsOf(entry: Entry): readonly DirectoryNews[] {
  if (entry.what !== "tunnel") return [entry];
  const { edgeId, shared } = entry;
  return shared ? [{ what: "tunnel", edgeId, shared }] : [];
}

/** The name that the tunnel claims, see `Claim`; "" for a tunnel with labels. */
export function nameOfEntry({ tunnel, shared }: TunnelEntry): string {
  if (shared) return shared.endpoint?.name ?? "";
  if (!tunnel?.endpoint) return "";
  const { proto, publicUrl } = tunnel.endpoint;
  return nameAt(proto, hostportOf(publicUrl), tunnel.accountId);
}

/** The name of an endpoint at a host and port. */
export function nameAt(proto: InternalScheme, hostport: string, accountId: string): string {
  const host = hostOf(hostport);
  const port = Number(hostport.slice(host.length + 1));
  if (isInternalName(host)) return nameOf(proto, internalKey({ scheme: proto, host, port }, accountId));
  return proto === "tcp" ? `:${port}` : nameOf(proto, host);
}
