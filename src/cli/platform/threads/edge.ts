/** The edge's thread. */
import { workerData } from "node:worker_threads";
import { startEdge } from "../../../edge/edge.ts";
import { systemClock } from "../../../lib/clock.ts";
import { makeMetrics } from "../../../lib/metrics.ts";
import type { LoginSettings } from "../../../identity/settings.ts";
import type { KeyedCertificate } from "../../../lib/x509.ts";
import type { WebhookSettings } from "../../../traffic/parts/webhook-check.ts";
import type { Downward, Upward } from "../../../routing/planes/messages.ts";
import type { ListenAddress, PortRange } from "../../settings/setting.ts";
import { edgePortLink } from "./port-link.ts";
import { runThread } from "./run-thread.ts";
import type { ThreadData } from "./thread-messages.ts";

export interface EdgeThreadOptions {
  readonly httpsListen: ListenAddress;
  readonly httpListen: ListenAddress | undefined;
  readonly agentListen: ListenAddress;
  /** Where the ports of TCP edges and endpoints are listened on; every address unless given. */
  readonly tcpHost: string | undefined;
  readonly tcpPorts: PortRange | undefined;
  readonly domain: string;
  readonly proxies: readonly string[];
  readonly forwarders: readonly string[];
  readonly webhooks: WebhookSettings;
  readonly logins: Partial<Omit<LoginSettings, "httpsPort">>;
  readonly allowLocalUpstreams: boolean;
  readonly requireReservedNames: boolean;
  /** The port in public URLs; the HTTPS listener's unless given. */
  readonly advertisedHttpsPort: number | undefined;
  readonly authority: KeyedCertificate;
  readonly tunnelSecret: Uint8Array;
  readonly region: string;
  readonly serverVersion: string;
  readonly drainMs: number;
}

export interface EdgeFacts {
  readonly httpsPort: number;
  readonly httpPort: number | undefined;
  readonly agentPort: number;
}

const { options } = workerData as ThreadData<EdgeThreadOptions>;
const link = edgePortLink();
await runThread<EdgeFacts, Upward, Downward>(link, async (log) => {
  const edge = await startEdge({ ...options, clock: systemClock, log, metrics: makeMetrics() }, link);
  await link.configured;
  return {
    facts: { httpsPort: edge.https.port, httpPort: edge.http?.port, agentPort: edge.agent.port },
    stop: () => edge.stop(),
  };
});
