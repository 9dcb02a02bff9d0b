import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { after, before, describe, it } from "node:test";
import { startApi } from "../support/api.ts";
import type { ApiResponse, TestApi } from "../support/api.ts";
import { makeManualClock } from "../support/clock.ts";
import { databases } from "../support/postgres.ts";

const sqlite = databases[0] as (typeof databases)[number];

describe("a write that prefers to wait for the edges", () => {
  const clock = makeManualClock();
  let api: TestApi;
  before(async () => {
    api = await startApi(sqlite, { clock });
  });
  after(() => api.stop());

  let count = 0;
  const create = (prefer: string): Promise<ApiResponse> => {
    count += 1;
    return api.request("POST", "/bot_users", { body: { name: `waiting ${count}` }, headers: { prefer } });
  };
  /** Resolves once a request waits, or with its answer if it does not. */
  const waits = async (request: Promise<ApiResponse>): Promise<boolean> => {
    const before = clock.pending;
    const state = { answered: false };
    void request.then(() => (state.answered = true));
    while (!state.answered && clock.pending === before) await turn();
    return !state.answered;
  };
  const lastRevision = (): number => {
    const last = api.edge.received.findLast((message) => message.type === "changes");
    return last?.type === "changes" ? last.revision : 0;
  };

  it("a write that prefers to wait for the edges is answered after the time when no edge is connected", async () => {
    const request = create("wait=5");
    assert.ok(await waits(request));
    clock.pass(5_000);
    const { status, headers } = await request;
    assert.equal(status, 201);
    assert.equal(headers["postern-applied"], "false");
    assert.equal(headers["preference-applied"], "wait=5");
    assert.equal(headers["postern-edges-behind"], undefined);
  });

  it("a write that prefers to wait for the edges is answered as soon as the edge serves its revision, and no sooner", async () => {
    api.edge.send({ type: "hello", edgeId: "edge_one" });
    const request = create("respond-async, wait=10");
    assert.ok(await waits(request));
    const revision = lastRevision();
    api.edge.send({ type: "applied", revision: revision - 1 });
    assert.equal((await api.request("GET", "/bot_users?limit=1")).body.bot_users.length, 1);
    api.edge.send({ type: "applied", revision });
    const { headers } = await request;
    assert.deepEqual([headers["postern-applied"], headers["postern-revision"]], ["true", String(revision)]);
  });

  it("a write that waits for the edges names the edge that does not serve it in time, and stays in effect", async () => {
    const request = create('wait="1"');
    assert.ok(await waits(request));
    clock.pass(1_000);
    const { body, headers } = await request;
    assert.deepEqual([headers["postern-applied"], headers["postern-edges-behind"]], ["false", "edge_one"]);
    assert.equal((await api.ok("GET", `/bot_users/${body.id}`)).id, body.id);
  });

  it("a write that waits for the edges waits for the replacement of an edge that is gone", async () => {
    api.edge.send({ type: "applied", revision: 999_999 });
    api.edge.send({ type: "hello", edgeId: "edge_two" });
    const request = create("wait=10");
    assert.ok(await waits(request));
    api.edge.send({ type: "applied", revision: lastRevision() });
    assert.equal((await request).headers["postern-applied"], "true");
  });

  it("a write that prefers to wait for the edges waits 30 seconds at most, and not at all when that is preferred or the preference cannot be read", async () => {
    const request = create("wait=86400");
    assert.ok(await waits(request));
    clock.pass(30_000);
    assert.equal((await request).headers["preference-applied"], "wait=30");
    assert.equal((await create("wait=0")).headers["postern-applied"], "false");
    for (const prefer of ["wait", "wait=soon", "wait=-1", "wait=1.5", "await=5", "handling=strict"]) {
      const { status, headers } = await create(prefer);
      assert.deepEqual([status, headers["postern-applied"]], [201, undefined], prefer);
    }
  });

  it("a write that waits for the edges is refused immediately if it is invalid", async () => {
    const headers = { prefer: "wait=10" };
    assert.equal((await api.request("POST", "/bot_users", { body: {}, headers })).status, 400);
    assert.equal((await api.request("DELETE", "/bot_users/bot_none", { headers })).status, 404);
    assert.equal((await api.request("GET", "/bot_users", { headers })).headers["preference-applied"], undefined);
  });

  it("a write that prefers to wait for the edges may be any write: of a module, of many objects, or back to a revision", async () => {
    const edge = await api.ok("POST", "/edges/https", {});
    const headers = { prefer: "wait=0" };
    for (const [method, path, body] of [
      ["PUT", `/edges/https/${edge.id}/tls_termination`, {}],
      ["PATCH", `/edges/https/${edge.id}`, { description: "x" }],
      ["DELETE", `/edges/https/${edge.id}`, undefined],
      ["POST", "/apply", { objects: {} }],
      ["POST", "/revisions/1/rollback", undefined],
    ] as const) {
      const response = await api.request(method, path, { headers, ...(body && { body }) });
      assert.ok(response.status < 300, response.text);
      assert.equal(response.headers["postern-applied"], "false", `${method} ${path}`);
    }
  });
});
