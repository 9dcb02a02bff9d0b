/** An edge's report of an agent's session and its tunnels. The management API returns these fields. */

export interface SessionReport {
  readonly id: string;
  readonly accountId: string;
  readonly credentialId: string;
  /** As in `AgentSession`; absent for "". */
  readonly agentId?: string;
  readonly agentVersion: string;
  readonly ip: string;
  readonly os: string;
  readonly metadata: string;
  readonly region: string;
  /** RFC 3339. */
  readonly startedAt: string;
  /** The same in milliseconds since 1970; absent from nodes of earlier versions. */
  readonly startedMs?: number;
  /** Always `ngrok/2` for the multiplexed protocol (semantics, "Sessions of agents"). */
  readonly transport: string;
}

export interface TunnelReport {
  readonly id: string;
  readonly accountId: string;
  readonly sessionId: string;
  readonly credentialId: string;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly metadata: string;
  readonly forwardsTo: string;
  readonly region: string;
  /** Absent for a backend tunnel. */
  readonly endpoint?:
    | {
        readonly id: string;
        readonly proto: "http" | "https" | "tcp" | "tls";
        readonly publicUrl: string;
        /** Name and description from the agent. */
        readonly name?: string;
        readonly description?: string;
        /** Whether other endpoints of the account may serve the same URL. */
        readonly pooled?: boolean;
      }
    | undefined;
  /** Labels of a backend tunnel. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** Returns host and port of a public URL. */
export function hostportOf(publicUrl: string): string {
  const url = new URL(publicUrl);
  const port = url.port === "" ? { "http:": "80", "https:": "443", "tls:": "443" }[url.protocol] : url.port;
  return `${url.hostname}:${port ?? "0"}`;
}

export function hostOf(hostport: string): string {
  return hostport.slice(0, hostport.lastIndexOf(":"));
}
