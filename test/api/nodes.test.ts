/** `GET /nodes` of a server that shares its database with no others. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

describe("a server alone", () => {
  let api: TestApi;
  before(async () => {
    api = await startApi(databases[0] as (typeof databases)[number]);
  });
  after(() => api.stop());

  it("a server alone lists itself as the only node, and finds it by its id", async () => {
    const { nodes } = await api.ok("GET", "/nodes");
    assert.equal(nodes.length, 1);
    const [{ id, lease, region, agents }] = nodes;
    assert.deepEqual({ lease, region, agents }, { lease: "none", region: "local", agents: 0 });
    assert.equal((await api.ok("GET", `/nodes/${id}`)).id, id);
  });

  it("a server alone shows nodes to operators only", async () => {
    const account = await api.ok("POST", "/accounts", { name: "no operator" });
    const refused = await api.request("GET", "/nodes", { key: account.api_key });
    assert.equal(refused.status, 403);
    assert.equal(refused.body.error_code, errorCode("operator_only"));
  });
});
