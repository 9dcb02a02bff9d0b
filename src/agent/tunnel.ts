/** What an agent publishes, one by one: each tunnel has a service of its own, and a life within the agent's sessions. */
import type { Upstream } from "./upstream.ts";
import type { AgentEnd } from "./end.ts";
import type { PublishedProto, Publication } from "./publication.ts";
import type { WatchedRequest } from "./request-watch.ts";
import type { StreamWatch } from "./stream-watch.ts";
import type { ServiceState } from "./service-watch.ts";

export interface TunnelOptions {
  /** What it is called where several are told apart; one agent has each name once. */
  readonly name: string;
  readonly upstream: Upstream;
  readonly metadata: string;
  /** What the endpoint is for. */
  readonly description?: string;
  readonly publish: Publication;
  /** How visitors reach what is published; `https` unless given. Labelled tunnels serve edges of any kind. */
  readonly proto?: PublishedProto;
  /** Version of the PROXY protocol's header that the service wants before each connection; 0, the default: none. */
  readonly proxyProtocol?: 0 | 1 | 2;
  /** What the server is to do with traffic, as the protocol names it (agent-protocol, "Options of a tunnel"). */
  readonly options?: Readonly<Record<string, unknown>>;
  /** JSON or YAML, of what has an address of its own. */
  readonly trafficPolicy?: string | undefined;
  /** Others of the account may have its address as well, if they ask for it, too. */
  readonly pooling?: boolean;
  /** Where it is reached from: `public`, `internal`; as the server has it unless given. */
  readonly bindings?: readonly string[];
  /** Whether its requests may be kept for people to look at; they may unless given. */
  readonly inspect?: boolean;
  /** The server is to tell how long its requests took there, if it can. */
  readonly wantsTimes?: boolean;
  readonly status?: (status: TunnelStatus) => void;
  readonly request?: ((request: WatchedRequest) => void) | undefined;
  /**
   * A public connection has come: what is returned reads along on it. `isHttp`: it carries HTTP. Absent, it costs
   * nothing.
   */
  readonly opened?: ((clientAddress: string, isHttp: boolean) => StreamWatch) | undefined;
  /**
   * The service has gone away, or has come back; it is taken to be there at first. Finding that out takes
   * connections of its own, which not every service can spare: absent, there are none.
   */
  readonly service?: (state: ServiceState) => void;
}

export type TunnelStatus =
  /** `url` is absent for a labelled tunnel. */
  | { readonly state: "online"; readonly url: string | undefined }
  /** The server would not have it now; the other tunnels are online meanwhile. */
  | { readonly state: "waiting"; readonly reason: string; readonly pauseMs: number }
  /** For a reason that trying again does not mend. */
  | { readonly state: "ended"; readonly end: AgentEnd }
  /** It was taken away while the agent ran. */
  | { readonly state: "removed" };
