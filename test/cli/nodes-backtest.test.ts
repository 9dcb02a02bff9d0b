/** Backtests over several servers: a backtest at any of them tries the captured requests of all, and any shows it. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { eventually } from "../support/eventually.ts";
import { startNode } from "../support/nodes.ts";
import type { ServerNode } from "../support/nodes.ts";
import { databases } from "../support/postgres.ts";
import { skipWithoutPostgres } from "../support/programs.ts";

const postgres = databases.find(({ name }) => name === "postgres");
const host = "app.backtest.test";

const policyFor = (path: string): string => `on_http_request:
  - expressions: ["req.url.path == '${path}'"]
    actions: [{ type: deny, config: { status_code: 403 } }]
  - actions: [{ type: custom-response, config: { status_code: 200, body: hello } }]
`;

interface Report {
  readonly id: string;
  readonly status: string;
  readonly error: string | null;
  readonly tried: number;
  readonly same: number;
  readonly unknown: number;
  readonly gaps: number;
  readonly lost_nodes: readonly { readonly node_id: string }[];
  readonly differences: Readonly<Record<string, number>>;
  readonly examples: readonly { readonly request_id: string }[];
}

describe("backtests of several servers", { skip: skipWithoutPostgres }, () => {
  let place: Awaited<ReturnType<NonNullable<typeof postgres>["create"]>>;
  let nodes: ServerNode[];
  let endpointId = "";
  let url = "";
  /** Number of requests that each node serves, over both versions of HTTP. */
  const visits = [30, 50, 70];

  const data = mkdtempSync(join(tmpdir(), "postern-backtest-"));
  // One of the servers has two edges.
  const start = (at: number): Promise<ServerNode> =>
    startNode(
      place.url,
      { POSTERN_PEER_LISTEN: `127.0.0.${at + 2}:0`, POSTERN_EDGES: at === 1 ? "2" : "1" },
      join(data, String(at)),
    );
  const documentOf = (traffic_policy: string) => ({
    objects: { cloud_endpoint: { app: { id: endpointId, url, type: "cloud", traffic_policy, capture: {} } } },
  });
  const begin = async (node: ServerNode, policy: string): Promise<string> => {
    const started = await node.call("POST", "/backtests", { document: documentOf(policy) });
    assert.equal(started.status, 201, started.text);
    return String(started.body["id"]);
  };
  const finished = async (node: ServerNode, id: string): Promise<Report> => {
    const reply = await node.until(
      `/backtests/${id}`,
      ({ status, body }) => status !== 200 || body["status"] !== "running",
    );
    assert.equal(reply.status, 200, reply.text);
    return reply.body as unknown as Report;
  };
  const untilCaptured = async (node: ServerNode, count: number): Promise<void> => {
    await eventually(
      async () => (await finished(node, await begin(node, policyFor("/denied")))).tried,
      (tried) => tried === count,
    );
  };

  before(async () => {
    place = await (postgres as NonNullable<typeof postgres>).create();
    nodes = await Promise.all([start(0), start(1), start(2)]);
    const [first] = nodes as [ServerNode];
    url = `https://${host}`;
    const fields = { url, type: "cloud", traffic_policy: policyFor("/denied"), capture: {} };
    const made = await first.call("POST", "/endpoints", fields, { prefer: "wait=10" });
    assert.equal(made.status, 201, made.text);
    endpointId = String(made.body["id"]);
    for (const [at, node] of nodes.entries()) {
      const asked = { host };
      await eventually(
        () => node.ask("h1", { ...asked, path: "/ready" }),
        ({ status }) => status === 200,
      );
      for (let count = 1; count < (visits[at] ?? 0); count += 1) {
        await node.ask(count % 2 === 0 ? "h1" : "h2", { ...asked, path: count % 10 === 0 ? "/denied" : "/a" });
      }
    }
  });
  after(async () => {
    await Promise.all(nodes.map((node) => node.end()));
    await place.drop();
    rmSync(data, { recursive: true, force: true });
  });

  it("a backtest at any server tries the captured requests of all, and any server shows the same result", async () => {
    await untilCaptured(nodes[0] as ServerNode, 150);
    for (const node of nodes) {
      const id = await begin(node, policyFor("/a"));
      const results = await Promise.all(nodes.map((other) => finished(other, id)));
      const [{ tried, same, unknown, gaps, lost_nodes, differences }] = results as [Report];
      assert.deepEqual(
        { tried, same, unknown, gaps, lost_nodes },
        { tried: 150, same: 3, unknown: 0, gaps: 0, lost_nodes: [] },
      );
      const { allowed_to_denied, denied_to_allowed } = differences;
      assert.deepEqual({ allowed_to_denied, denied_to_allowed }, { allowed_to_denied: 135, denied_to_allowed: 12 });
      const plain = results.map((one) => JSON.stringify({ ...one, uri: "" }));
      assert.deepEqual(new Set(plain).size, 1);
    }
  });

  it("a backtest names a server that went away, and tries its captured requests again after the server's restart", async () => {
    const [first, , third] = nodes as [ServerNode, ServerNode, ServerNode];
    const { body } = await third.call("GET", "/nodes");
    const found = body["nodes"] as readonly { readonly id: string; readonly api_url: string }[];
    const id = await begin(third, policyFor("/denied"));
    const before = await finished(third, id);
    await finished(first, id);
    await third.end("SIGKILL");
    const without = await finished(first, await begin(first, policyFor("/denied")));
    assert.deepEqual([without.status, without.tried, without.same], ["completed", 80, 80]);
    assert.deepEqual(
      without.lost_nodes.map(({ node_id }) => node_id),
      found.filter(({ api_url }) => api_url === third.apiUrl).map((one) => one.id),
    );
    assert.deepEqual((await finished(first, id)).tried, before.tried);

    nodes[2] = await start(2);
    await untilCaptured(first, 150);
    const again = await finished(nodes[2], await begin(nodes[2], policyFor("/denied")));
    assert.deepEqual([again.tried, again.same, again.unknown, again.gaps], [150, 150, 0, 0]);
  });
});
