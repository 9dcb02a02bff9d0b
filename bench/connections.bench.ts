/**
 * New connections with one request each. wrk resumes TLS sessions. nginx accepts each resumption, because it issues
 * another ticket with it. Postern accepts every second one, because Node issues none. The other rows measure first
 * visits: to one host, and to one of many.
 */
import { once } from "node:events";
import { request } from "node:https";
import type { IncomingMessage } from "node:http";
import { api, many } from "./support/api-client.ts";
import { startLabelledAgent } from "./support/labelled-agent.ts";
import { interleave, table } from "./support/report.ts";
import { startAgent, startServer, startService } from "./support/postern.ts";
import { startNginx, startNginxOfMany, startSsh } from "./support/peers.ts";
import { setTimeout } from "node:timers/promises";
import { createSelfSigned } from "../src/lib/certificates/x509.ts";
import { cpuMicros, residentBytes, stop } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";

const service = await startService();
const server = await startServer();
const agent = await startAgent(server, service.port, "bench");
const nginx = await startNginx(service.port);
// ssh -R moves bytes only, so the service terminates TLS. The visitor sees the same in both cases.
const ssh = await startSsh(nginx.port);

const load = { connections: 16, seconds: 3, headers: ["Connection: close"] };
const perConnection = "edge CPU µs/connection";
const contender = (name: string, pid: number, port: number, host = "bench.localhost") => ({
  name,
  async measure() {
    const before = cpuMicros(pid);
    const { requests, perSecond } = await wrk(`https://${host}:${port}/`, load);
    return { "connections/s": perSecond, [perConnection]: (cpuMicros(pid) - before) / requests };
  },
});
// V8 compiles during the first connections, which cost up to a third more. Servers run longer than that.
await wrk(`https://bench.localhost:${server.httpsPort}/`, { ...load, seconds: 20 });
const samples = await interleave(
  [
    contender("postern", server.pid, server.httpsPort),
    contender("ssh -R, TLS behind", ssh.pid, ssh.port),
    contender("nginx (no tunnel)", nginx.pid, nginx.port),
  ],
  5,
);
table("A new TLS connection per request, 16 at a time, of visitors who come back", samples, [
  ["connections/s", "postern", "ssh -R, TLS behind", { atLeast: 1 }],
  [perConnection, "postern", "nginx (no tunnel)", { atMost: 1.5 }],
]);

const ofRsa = "rsa.localhost";
const rsa = await createSelfSigned({ names: [ofRsa], now: Date.now(), days: 2, keyType: "rsa" });
await api(server.apiUrl, "POST", "/tls_certificates", {
  certificate_pem: rsa.certificatePem,
  private_key_pem: rsa.keyPem,
});
const rsaAgent = await startAgent(server, service.port, "rsa");
const rsaNginx = await startNginx(service.port, rsa);
await wrk(`https://${ofRsa}:${server.httpsPort}/`, load);
const withRsa = await interleave(
  [
    contender("postern", server.pid, server.httpsPort, ofRsa),
    contender("nginx (no tunnel)", rsaNginx.pid, rsaNginx.port, ofRsa),
  ],
  5,
);
table("The same with a certificate of RSA", withRsa, [
  [perConnection, "postern", "nginx (no tunnel)", { atMost: 1.5 }],
]);

const hosts = 10_000;
const visits = 3000;
/** First visits per second, fewer than the 500 certificates that can be created per second. */
const firstVisits = 400;
const { agent: labelled, backendId } = await startLabelledAgent(server, service.port);
const hostOf = (index: number): string => `host-${index}.localhost`;
await many(hosts, async (index) => {
  const hostports = [`${hostOf(index)}:${server.httpsPort}`];
  const { id } = await api<{ id: string }>(server.apiUrl, "POST", "/edges/https", { hostports });
  const backend = { backend_id: backendId };
  await api(server.apiUrl, "POST", `/edges/https/${id}/routes`, { match_type: "path_prefix", match: "/", backend });
});

/**
 * The curve of Node and browsers costs Postern a fifth more, and nginx 1.22 does not support it. The comparison uses a
 * curve that both support.
 */
const ecdhCurve = "X25519";

/** Sends one request on a new connection. Throws unless the status is 200. */
async function visit(port: number, host: string): Promise<void> {
  const target = { host: "127.0.0.1", port, servername: host, headers: { host: `${host}:${port}` } };
  const asking = request({ ...target, agent: false, rejectUnauthorized: false, ecdhCurve }).end();
  const [response] = (await once(asking, "response")) as [IncomingMessage];
  await once(response.resume(), "close");
  if (response.statusCode !== 200) throw new Error(`visit ${host}: answered ${response.statusCode}`);
}

const visited = (name: string, pid: number, port: number, nameOf: (index: number) => string) => ({
  name,
  async measure() {
    const before = cpuMicros(pid);
    await many(visits, (index) => visit(port, nameOf(index)));
    return { [perConnection]: (cpuMicros(pid) - before) / visits };
  },
});
let next = 0;
const distinct = visited(`postern, ${hosts} hosts`, server.pid, server.httpsPort, () => hostOf(next++ % hosts));
const one = visited("postern, one host", server.pid, server.httpsPort, () => hostOf(1));
const nginxOfMany = await startNginxOfMany(
  service.port,
  Array.from({ length: hosts }, (_, index) => hostOf(index)),
);
await many(hosts, (index) => visit(nginxOfMany.port, hostOf(index)));
let nextOfNginx = 0;
const nginxDistinct = visited(`nginx, ${hosts} hosts`, nginxOfMany.pid, nginxOfMany.port, () =>
  hostOf(nextOfNginx++ % hosts),
);
const unvisited = residentBytes(server.pid);
for (let from = 0; from < hosts; from += firstVisits) {
  const second = setTimeout(1000);
  await many(firstVisits, (index) => visit(server.httpsPort, hostOf(from + index)));
  await second;
}
const kibEach = (residentBytes(server.pid) - unvisited) / hosts / 1024;
for (let visited = 0; visited < 5 * hosts; visited += visits)
  for (const warmUp of [one, distinct]) await warmUp.measure();
const among = await interleave(
  [distinct, nginxDistinct, one, visited("nginx (no tunnel)", nginx.pid, nginx.port, () => "bench.localhost")],
  9,
);
table("A new TLS connection per request, of visitors who have not been there", among, [
  [perConnection, one.name, "nginx (no tunnel)", { atMost: 1.5 }],
  [perConnection, distinct.name, one.name, { atMost: 1.1 }],
  [perConnection, distinct.name, nginxDistinct.name, { atMost: 1.5 }],
  [perConnection, distinct.name, "nginx (no tunnel)", { atMost: 1.5 }],
]);
process.stdout.write(`  A host takes ${kibEach.toFixed(0)} KiB from its first visitor on.\n`);
const nginxes = [nginx, rsaNginx, nginxOfMany].map(({ child }) => child);
for (const child of [agent, rsaAgent, labelled, server.child, ...nginxes, ssh.child, service.child]) await stop(child);
