/** Time from a write's response until the edge serves it, with few and with many routes. */
import { connect } from "node:tls";
import { api, many } from "./support/api-client.ts";
import { startServer } from "./support/postern.ts";
import { median, quantile, verdict } from "./support/report.ts";

interface Named {
  readonly id: string;
}

/**
 * Measures the milliseconds from the response to a rule's creation or deletion until the edge applies it, many times.
 */
async function propagation(routes: number): Promise<number[]> {
  const server = await startServer();
  const backend = await api<Named>(server.apiUrl, "POST", "/backends/tunnel_group", { labels: { bench: "none" } });
  const policy = await api<Named>(server.apiUrl, "POST", "/ip_policies", {});
  const edges = Math.ceil(routes / 100);
  await many(edges, async (index) => {
    const edge = await api<Named>(server.apiUrl, "POST", "/edges/https", {
      hostports: [`many-${index}.localhost:443`],
    });
    for (let at = 0; at < Math.min(100, routes); at += 1) {
      await api(server.apiUrl, "POST", `/edges/https/${edge.id}/routes`, {
        match_type: "path_prefix",
        match: `/part-${at}`,
        backend: { backend_id: backend.id },
      });
    }
  });
  const edge = await api<Named>(server.apiUrl, "POST", "/edges/https", { hostports: ["bench.localhost:443"] });
  await api(server.apiUrl, "POST", `/edges/https/${edge.id}/routes`, {
    match_type: "path_prefix",
    match: "/",
    backend: { backend_id: backend.id },
    ip_restriction: { ip_policy_ids: [policy.id] },
  });

  const socket = connect({
    host: "127.0.0.1",
    port: server.httpsPort,
    servername: "bench.localhost",
    rejectUnauthorized: false,
  });
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  let answer: ((status: number) => void) | undefined;
  let text = "";
  socket.on("data", (bytes: Buffer) => {
    text += bytes.toString("latin1");
    const head = text.indexOf("\r\n\r\n");
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
    if (head < 0 || text.length < head + 4 + length) return;
    const status = Number(text.slice(9, 12));
    text = text.slice(head + 4 + length);
    answer?.(status);
  });
  const status = (): Promise<number> =>
    new Promise((resolve) => {
      answer = resolve;
      socket.write("GET / HTTP/1.1\r\nHost: bench.localhost\r\nAccept: application/json\r\n\r\n");
    });

  const took: number[] = [];
  for (let turn = 0; turn < 100; turn += 1) {
    // 403 without the rule. With it, the request reaches the empty backend: 503.
    const rule = await api<Named>(server.apiUrl, "POST", "/ip_policy_rules", {
      ip_policy_id: policy.id,
      cidr: "127.0.0.1/32",
      action: "allow",
    });
    const began = performance.now();
    while ((await status()) !== 503);
    took.push(performance.now() - began);
    await api(server.apiUrl, "DELETE", `/ip_policy_rules/${rule.id}`);
    while ((await status()) !== 403);
  }
  socket.destroy();
  await server.stop();
  return took;
}

process.stdout.write("\nFrom a write's answer to the edge serving it\n");
const [few, lots] = [await propagation(10), await propagation(10_000)];
process.stdout.write(
  `  10 routes      p50 ${quantile(few, 0.5).toFixed(2)} ms  p99 ${quantile(few, 0.99).toFixed(2)} ms\n`,
);
process.stdout.write(
  `  10,000 routes  p50 ${quantile(lots, 0.5).toFixed(2)} ms  p99 ${quantile(lots, 0.99).toFixed(2)} ms\n`,
);
verdict("p50 with 10,000 routes, ms", median(lots), { atMost: 5 });
verdict("p50 with 10,000 routes / with 10", median(lots) / median(few), { atMost: 1.2 });
