/**
 * `node edge-process.ts HOSTPORTS ROUTES SERVICE_PORT first|each`: runs an edge only, with HOSTPORTS edges of one
 * hostport each. The first one, bench.localhost, or each has ROUTES routes to the service. Prints its port once it
 * serves them, and with `--expose-gc` the bytes of its heap.
 */
import { startEdge } from "../../src/edge/edge.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { makeMetrics } from "../../src/lib/metrics.ts";
import { createAuthority } from "../../src/lib/certificates/x509.ts";
import type { Downward } from "../../src/routing/planes/messages.ts";
import { edgeSettings } from "../../src/settings/edge.ts";
import { defaultsOf } from "../../src/settings/setting.ts";
import type { ResourceObject } from "../../src/schema/object.ts";

const [hostports, routes, servicePort] = process.argv.slice(2).map(Number) as [number, number, number];
const routed = process.argv[5] === "each" ? hostports : 1;

function object(kind: string, id: string, doc: Readonly<Record<string, unknown>>): ResourceObject {
  return { kind, id, account_id: "ac_1", revision: 1, doc };
}

function* objects(): Iterable<ResourceObject> {
  yield object("static_backend", "bkdsc_1", { address: `127.0.0.1:${servicePort}`, tls: { enabled: false } });
  for (let index = 0; index < hostports; index += 1) {
    const host = index === 0 ? "bench.localhost" : `host-${index}.localhost`;
    yield object("https_edge", `edghts_${index}`, { hostports: [`${host}:443`], mutual_tls: null });
  }
  for (let index = 0; index < routed * routes; index += 1) {
    yield object("https_edge_route", `edghtsrt_${index}`, {
      edge_id: `edghts_${Math.floor(index / routes)}`,
      match_type: "path_prefix",
      match: `/part-${index % routes}`,
      backend: { enabled: true, backend_id: "bkdsc_1" },
    });
  }
}

let receive: (message: Downward) => void = () => {};
const edge = await startEdge(
  {
    ...defaultsOf(edgeSettings),
    httpsListen: { host: "127.0.0.1", port: 0 },
    agentListen: { host: "127.0.0.1", port: 0 },
    domain: "localhost",
    authority: await createAuthority({ commonName: "Bench", now: Date.now() }),
    tunnelSecret: Buffer.alloc(32, 1),
    region: "",
    serverVersion: "0",
    clock: systemClock,
    log: silentLog,
    metrics: makeMetrics(),
    allowLocalUpstreams: true,
    drainMs: 0,
  },
  { send: () => {}, receive: (handler) => (receive = handler) },
);
receive({ type: "snapshot", revision: 1, objects: [...objects()], last: true });
globalThis.gc?.();
process.stdout.write(`${edge.https.port} ${process.memoryUsage().heapUsed}\n`);
