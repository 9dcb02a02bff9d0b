/** What a server reports about itself and the servers that share its database. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { eventually } from "../support/eventually.ts";
import { databases } from "../support/postgres.ts";
import { skipWithoutPostgres } from "../support/programs.ts";

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

const postgres = databases.find(({ name }) => name === "postgres");

describe("servers on one database", { skip: skipWithoutPostgres }, () => {
  let one: TestApi;
  let other: TestApi;
  before(async () => {
    if (!postgres) return;
    one = await startApi(postgres, { cluster: true });
    const { apiKey, authtoken, databaseUrl } = one;
    other = await startApi(postgres, { cluster: true, databaseUrl, bootstrap: { apiKey, authtoken } });
    for (const [at, { edge }] of [one, other].entries()) edge.send({ type: "hello", edgeId: `edge_${at}` });
  });
  after(async () => {
    await other?.stop();
    await one?.stop();
  });

  it("P1: servers on one database list each problem of any edge once, only to its account, until it is solved", async () => {
    const accountId = (await one.ok("GET", "/accounts")).accounts[0].id;
    const [first, second] = [await one.ok("POST", "/ip_policies", {}), await one.ok("POST", "/ip_policies", {})];
    await eventually(
      () => other.request("GET", `/ip_policies/${second.id}`),
      ({ status }) => status === 200,
    );
    const told = (id: string, message?: string) => ({ kind: "ip_policy", id, accountId, module: undefined, message });
    const shown = async (api: TestApi): Promise<readonly string[]> => {
      const { problems } = await api.ok("GET", "/problems");
      return problems.map(({ id, message }: Record<string, string>) => `${id}: ${message}`).sort();
    };
    const both = [`${first.id}: of both`, `${second.id}: of one`].sort();
    other.edge.send({ type: "problems", problems: [told(first.id, "of both")] });
    one.edge.send({ type: "problems", problems: [told(first.id, "of both"), told(second.id, "of one")] });
    for (const api of [one, other]) {
      const problems = await eventually(
        () => shown(api),
        ({ length }) => length === 2,
      );
      assert.deepEqual(problems, both);
    }
    const { api_key: stranger } = await one.ok("POST", "/accounts", { name: "stranger" });
    await eventually(
      () => other.request("GET", "/problems", { key: stranger }),
      ({ status, body }) => status === 200 && body.problems.length === 0,
    );
    one.edge.send({ type: "problems", problems: [told(first.id), told(second.id)] });
    await eventually(
      () => shown(other),
      (problems) => problems.length === 1,
    );
    other.edge.send({ type: "gone" });
    await eventually(
      () => shown(one),
      ({ length }) => length === 0,
    );
  });
});
