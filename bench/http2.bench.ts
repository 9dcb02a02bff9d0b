/** HTTP/2: CPU of the edge per request, 1 KiB on 16 connections with 10 streams each; 64 MiB down and up, beside HTTP/1.1, and up from 50 ms away. */
import { h2load } from "./support/h2load.ts";
import { startAgent, startServer, startService } from "./support/postern.ts";
import { startNginx } from "./support/peers.ts";
import { interleave, table } from "./support/report.ts";
import { cpuMicros, freePort, listening, start, stop } from "./support/system.ts";

const [megabytes, rounds] = [64, 5];
const service = await startService();
const server = await startServer();
const agent = await startAgent(server, service.port, "bench");
const nginx = await startNginx(service.port);
const contenders = [
  { name: "postern", pid: server.pid, url: `https://bench.localhost:${server.httpsPort}` },
  { name: "nginx (no tunnel)", pid: nginx.pid, url: `https://bench.localhost:${nginx.port}` },
];

const small = { connections: 16, streams: 10, seconds: 3 };
await h2load(`${contenders[0]?.url}/`, small);
const requests = await interleave(
  contenders.map(({ name, pid, url }) => ({
    name,
    async measure() {
      const before = cpuMicros(pid);
      const result = await h2load(`${url}/`, small);
      return { "edge CPU µs/request": (cpuMicros(pid) - before) / result.requests, "requests/s": result.perSecond };
    },
  })),
  rounds,
);
table("1 KiB over HTTP/2, 16 connections with 10 streams each", requests, [
  ["edge CPU µs/request", "postern", "nginx (no tunnel)", { atMost: 1.05 }],
]);

for (const [way, path, upload] of [
  ["down", `/bulk/${megabytes}`, undefined],
  ["up", "/", megabytes << 20],
] as const) {
  const load = { connections: 1, streams: 1, requests: 4, ...(upload !== undefined && { upload }) };
  const bulk = await interleave(
    contenders.flatMap(({ name, pid, url }) =>
      [false, true].map((isHttp1) => ({
        name: `${name}, HTTP/${isHttp1 ? "1.1" : "2"}`,
        async measure() {
          const before = cpuMicros(pid);
          const { perSecond, requests: count } = await h2load(`${url}${path}`, { ...load, isHttp1 });
          const gigabytes = (count * megabytes) / 1024;
          return { "MB/s": perSecond * megabytes, "CPU s/GB": (cpuMicros(pid) - before) / 1e6 / gigabytes };
        },
      })),
    ),
    rounds,
  );
  table(`${megabytes} MiB ${way}, one at a time`, bulk, [
    ["MB/s", "postern, HTTP/2", "postern, HTTP/1.1", { atLeast: 0.8 }],
  ]);
}

const relayPort = await freePort();
const relay = start(process.execPath, ["bench/support/delay.ts", String(relayPort), String(server.httpsPort), "25"]);
await listening(relayPort);
const far = { connections: 1, streams: 1, requests: 1, upload: megabytes << 20, port: relayPort };
const overDistance = await interleave(
  [false, true].map((isHttp1) => ({
    name: `postern, HTTP/${isHttp1 ? "1.1" : "2"}`,
    measure: async () => ({
      "MB/s": (await h2load(`${contenders[0]?.url}/`, { ...far, isHttp1 })).perSecond * megabytes,
    }),
  })),
  rounds,
);
table(`${megabytes} MiB up, the visitor 50 ms away`, overDistance, [
  ["MB/s", "postern, HTTP/2", "postern, HTTP/1.1", { atLeast: 0.25 }],
]);
for (const child of [relay, agent, server.child, nginx.child, service.child]) await stop(child);
