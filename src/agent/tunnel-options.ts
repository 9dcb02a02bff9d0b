/** What an agent publishes: each tunnel has its own service and its own life within the agent's sessions. */
import type { McpPlace } from "./mcp-place.ts";
import type { Upstream } from "./upstream.ts";
import type { AgentEnd } from "./end.ts";
import type { PublishedProto, Publication } from "./publication.ts";
import type { WatchedRequest } from "./request-watch.ts";
import type { StreamWatch } from "./stream-watch.ts";
import type { ServiceState } from "./service-watch.ts";

export interface TunnelOptions {
  /** Name that identifies the tunnel. Unique within an agent. */
  readonly name: string;
  readonly upstream: Upstream;
  readonly metadata: string;
  /** Purpose of the endpoint. */
  readonly description?: string;
  readonly publish: Publication;
  /** Protocol of the visitors. Default: `https`. Labelled tunnels serve edges of any kind. */
  readonly proto?: PublishedProto;
  /**
   * Version of the PROXY protocol header that the service expects at the start of each connection. Default: 0, no
   * header.
   */
  readonly proxyProtocol?: 0 | 1 | 2;
  /** How the server should handle traffic, in the protocol's names (agent-protocol, "Options of a tunnel"). */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Traffic policy as JSON or YAML, for a tunnel with its own address. */
  readonly trafficPolicy?: string | undefined;
  /** Whether other tunnels of the account may share the address, if they ask for it too. */
  readonly pooling?: boolean;
  /** Where the endpoint can be reached from: `public` or `internal`. Default: the server decides. */
  readonly bindings?: readonly string[];
  /** Whether its requests may be captured for inspection. Default: true. */
  readonly inspect?: boolean;
  /** Whether the server should report how long requests took there, if it can. */
  readonly wantsTimes?: boolean;
  /** Set for an MCP server: its path, and how it speaks MCP, once they are known. */
  readonly mcp?: Partial<McpPlace> | undefined;
  readonly status?: (status: TunnelStatus) => void;
  readonly request?: ((request: WatchedRequest) => void) | undefined;
  /**
   * Called for each public connection. The returned watch observes it. `isHttp`: it carries HTTP. Costs nothing if
   * absent.
   */
  readonly opened?: ((clientAddress: string, isHttp: boolean) => StreamWatch) | undefined;
  /**
   * Called when the service goes away or comes back. Initially the service counts as reachable. Detection opens extra
   * connections, which not every service tolerates; if this is absent, there are none.
   */
  readonly service?: (state: ServiceState) => void;
}

export type TunnelStatus =
  /** `url` is undefined for a labelled tunnel. */
  | { readonly state: "online"; readonly url: string | undefined }
  /** The server refused the tunnel for now. Other tunnels stay online. */
  | { readonly state: "waiting"; readonly reason: string; readonly pauseMs: number }
  /** Ended for a permanent reason. */
  | { readonly state: "ended"; readonly end: AgentEnd }
  /** Removed while the agent was running. */
  | { readonly state: "removed" };
