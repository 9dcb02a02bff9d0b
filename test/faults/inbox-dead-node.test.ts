/** Three servers with one database: another one delivers what a killed one had begun. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { eventually } from "../support/eventually.ts";
import { startNode } from "../support/nodes.ts";
import { databases } from "../support/postgres.ts";
import { startHttpService } from "../support/services.ts";

const host = "hooks.example.com";
const postgres = databases.find(({ name }) => name === "postgres");

describe("an inbox of three servers", { timeout: 120_000, skip: postgres === undefined }, () => {
  it("S9: an inbox whose server dies during an attempt delivers the message through another server within 10 s", async (t) => {
    const place = await postgres?.create();
    const url = place?.url ?? "";
    const got: { readonly id: string; readonly attempt: string; readonly at: number }[] = [];
    const service = await startHttpService((request, response) => {
      const { "postern-inbox-id": id, "postern-inbox-attempt": attempt } = request.headers;
      got.push({ id: String(id), attempt: String(attempt), at: performance.now() });
      // The first attempt gets no answer, so it is under way when its server dies.
      if (got.length > 1) response.end();
    });
    const first = await startNode(url);
    const nodes = [first, await startNode(url), await startNode(url)];
    const call = async (path: string, body: unknown): Promise<string> => {
      const reply = await first.call("POST", path, body);
      assert.equal(reply.status, 201, reply.text);
      return String(reply.body["id"]);
    };
    const edge = await call("/edges/https", { hostports: [`${host}:443`] });
    const backend_id = await call("/backends/tunnel_group", { labels: { app: "hooks" } });
    await call(`/edges/https/${edge}/routes`, {
      match_type: "path_prefix",
      match: "/",
      backend: { enabled: true, backend_id },
      inbox: { enabled: true, timeout_seconds: 600 },
    });
    const upstream = { upstream: service.port, labels: { app: "hooks" } };
    const agents = await Promise.all(nodes.map((node) => node.agent(upstream)));
    const answer = await eventually(
      () => first.ask("h1", { host, method: "POST", path: "/hook", body: "{}" }),
      ({ status }) => status === 202,
    );
    await eventually(
      () => got.length,
      (count) => count === 1,
    );
    // The server that delivers is the one that stored the message: it takes it immediately.
    const killedAt = performance.now();
    await first.end("SIGKILL");
    await eventually(
      () => got.length,
      (count) => count >= 2,
    );
    const [begun, repeated] = got;
    assert.equal(begun?.id, answer.headers["postern-inbox-id"]);
    assert.deepEqual([repeated?.id, repeated?.attempt], [begun?.id, "2"]);
    t.diagnostic(`delivered ${Math.round((repeated?.at ?? 0) - killedAt)} ms after the death`);
    const [, second] = nodes;
    const shown = await second?.until(
      `/inbox_messages/${String(begun?.id)}`,
      ({ body }) => body["state"] === "delivered",
    );
    assert.equal(shown?.status, 200);
    assert.equal(got.length, 2);
    await Promise.all(agents.map((agent) => agent.close()));
    await Promise.all(nodes.slice(1).map((node) => node.end()));
    await service.stop();
    await place?.drop();
  });
});
