/** Who may test an unapplied policy at an edge, and with what input. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

describe("a policy that is tried at an edge", () => {
  let api: TestApi;
  let edge: string;
  let route: string;
  let foreign: string;
  const policy = "on_http_request: [{actions: [{type: deny}]}]";
  before(async () => {
    const [database] = databases;
    assert.ok(database);
    api = await startApi(database);
    const made = async (): Promise<[edge: string, route: string]> => {
      const { id } = await api.ok("POST", "/edges/https", { hostports: [`drafts.example.com:443`] });
      const body = { match_type: "path_prefix", match: "/" };
      return [id, (await api.ok("POST", `/edges/https/${id}/routes`, body)).id];
    };
    [edge, route] = await made();
    const other = await api.ok("POST", "/edges/https", {});
    foreign = (await api.ok("POST", `/edges/https/${other.id}/routes`, { match_type: "path_prefix", match: "/" })).id;
  });
  after(() => api.stop());

  const ask = (draft: object, key?: string) =>
    api.request("POST", `/edges/https/${edge}/explain`, { body: { draft }, ...(key !== undefined && { key }) });

  for (const scopes of [["read"], ["read", "secrets"], ["write"], ["write", "secrets", "metadata:team-a"]]) {
    it(`P1: a policy draft cannot read what its writer may not: a key with ${scopes.join(", ")} is refused`, async () => {
      const { token } = await api.ok("POST", "/api_keys", { scopes });
      const { status, body } = await ask({ route_id: route, traffic_policy: policy }, token);
      assert.deepEqual([status, body.error_code], [403, errorCode("scope_missing")], JSON.stringify(body));
    });
  }

  it("a policy that is tried at an edge names one of its routes, and is one", async () => {
    const wrong = [
      [{ route_id: foreign, traffic_policy: policy }, "draft.route_id"],
      [{ route_id: "nothing", traffic_policy: policy }, "draft.route_id"],
      [{ route_id: route, traffic_policy: "on_http_request: 1" }, "draft.traffic_policy"],
      [{ route_id: route }, "draft.traffic_policy"],
      [{ route_id: route, traffic_policy: policy, more: 1 }, "draft.more"],
    ] as const;
    for (const [draft, path] of wrong) {
      const { status, body } = await ask(draft);
      assert.equal(status, 400, JSON.stringify(body));
      assert.ok(
        Object.keys(body.details).some((one) => one.startsWith(path)),
        JSON.stringify(body),
      );
    }
  });
});
