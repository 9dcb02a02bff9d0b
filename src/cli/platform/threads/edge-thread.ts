/** The edge's thread. */
import { parentPort, workerData } from "node:worker_threads";
import { startEdge } from "../../../edge/edge.ts";
import type { AddressData } from "../../../geo/address-book.ts";
import type { AccessBatch } from "../../../lib/access-fields.ts";
import { systemClock } from "../../../lib/clock.ts";
import { makeMetrics } from "../../../lib/metrics.ts";
import type { KeyedCertificate } from "../../../lib/certificates/x509.ts";
import type { PeerOptions, PublicPorts } from "../../../edge/edge-options.ts";
import type { Downward, Upward } from "../../../routing/planes/messages.ts";
import type { EdgeSettings } from "../../../settings/edge.ts";
import { capturePortLine } from "./capture-line.ts";
import { edgePortLink } from "./port-link.ts";
import { runThread } from "./run-thread.ts";
import type { FromThread, ThreadData, ToThread } from "./thread-messages.ts";

export interface EdgeThreadOptions {
  readonly settings: EdgeSettings;
  readonly authority: KeyedCertificate;
  readonly tunnelSecret: Uint8Array;
  readonly serverVersion: string;
  readonly drainMs: number;
  /** Number of this edge at its node, from 1. */
  readonly number: number;
  /** Undefined until a rule needs it. */
  readonly addresses: AddressData | undefined;
  /** Set if there are other edges. */
  readonly peers: PeerOptions | undefined;
  /** Whether it listens for agents when all edges are prepared. */
  readonly waitsForEdges: boolean;
  /** Path of its socket for the SSH thread. */
  readonly gatewayPath: string | undefined;
}

export interface EdgePorts extends PublicPorts {
  readonly agentPort: number;
}

const { options, refused } = workerData as ThreadData<EdgeThreadOptions>;
const { settings, number, addresses: data, waitsForEdges, ...own } = options;
const link = edgePortLink();
const line = capturePortLine(() => parentPort?.postMessage({ type: "captureWanted" } satisfies FromThread<EdgePorts>));
let early: AddressData | undefined;
let takeAddresses = (those: AddressData): void => void (early = those);
const allPrepared = Promise.withResolvers<void>();
parentPort?.on("message", (message: ToThread) => {
  if (message.type === "addresses") takeAddresses(message.data);
  else if (message.type === "acceptAgents") allPrepared.resolve();
});
await runThread<EdgePorts, Upward, Downward>([link], "continues", async (log, telemetry) => {
  const accessLines = settings.accessLog === undefined ? undefined : sendLines;
  const facts = { refused: new Set(refused), clock: systemClock, log, metrics: makeMetrics(), accessLines };
  const capture = { line, edge: number };
  const tracing = telemetry && (await import("./edge-tracing.ts")).openEdgeTracing(telemetry, facts.metrics);
  const addresses = { data, wanted: askForAddresses };
  const beforeAgents = waitsForEdges ? afterAllEdges : undefined;
  const given = { ...settings, ...own, ...facts, capture, tracing, addresses, beforeAgents };
  const edge = await startEdge(given, link);
  // The configuration may need addresses, and they may arrive before this plane has started.
  takeAddresses = (those) => edge.replaceAddresses(those);
  if (early) takeAddresses(early);
  await link.configured;
  return {
    ports: { httpsPort: edge.https.port, httpPort: edge.http?.port, agentPort: edge.agent.port },
    replaceAuthority: (authority) => edge.replaceAuthority(authority),
    captureLine: (port) => line.attach(port),
    accessWritten: (result) => edge.accessWritten(result),
    drain: (isObserved) => edge.drain(isObserved),
    stop: () => edge.stop(),
  };
});

/** Resolves when every edge of this server can listen for agents. Otherwise the first one would get all of them. */
async function afterAllEdges(ports: PublicPorts): Promise<void> {
  await link.configured;
  const prepared = { ...ports, agentPort: settings.agentListen.port };
  parentPort?.postMessage({ type: "prepared", ports: prepared } satisfies FromThread<EdgePorts>);
  await allPrepared.promise;
}

function askForAddresses(): void {
  parentPort?.postMessage({ type: "addressesWanted" } satisfies FromThread<EdgePorts>);
}

/** To the main thread, which writes the access log. */
function sendLines(batch: AccessBatch): void {
  parentPort?.postMessage({ type: "accessLines", batch } satisfies FromThread<EdgePorts>);
}
