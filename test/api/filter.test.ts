import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

const sqlite = databases[0] as (typeof databases)[number];

describe("filters of lists", () => {
  let api: TestApi;
  before(async () => {
    api = await startApi(sqlite);
    for (let from = 0; from < 500; from += 50) {
      const names = Array.from({ length: 50 }, (_, index) => `bot ${from + index}`);
      await Promise.all(names.map((name) => api.ok("POST", "/bot_users", { name, active: name.endsWith("7") })));
    }
  });
  after(() => api.stop());

  const list = async (filter: string, more = ""): Promise<{ bot_users: { name: string }[]; next_page_uri: string }> =>
    api.ok("GET", `/bot_users?filter=${encodeURIComponent(filter)}${more}`);

  it("filters of lists return matches, newest first, over pages without repetitions or gaps", async () => {
    const names: string[] = [];
    let page = await list("obj.active", "&limit=7");
    for (;;) {
      names.push(...page.bot_users.map(({ name }) => name));
      if (page.next_page_uri === null) break;
      assert.equal(page.bot_users.length, 7);
      page = await api.ok("GET", page.next_page_uri.slice(api.baseUrl.length));
    }
    const expected = Array.from({ length: 500 }, (_, index) => `bot ${index}`).filter((name) => name.endsWith("7"));
    assert.deepEqual(names.sort(), expected.sort());
  });

  it("filters of lists find one among many, and report when there is none", async () => {
    assert.deepEqual(
      (await list('obj.name == "bot 3"')).bot_users.map(({ name }) => name),
      ["bot 3"],
    );
    const none = await list('obj.name.startsWith("cat")');
    assert.deepEqual([none.bot_users, none.next_page_uri], [[], null]);
  });

  it("P1: filters of lists show nothing of another account", async () => {
    const { api_key } = await api.ok("POST", "/accounts", { name: "another" });
    const other = await api.ok("GET", "/bot_users?filter=true", undefined, api_key);
    assert.deepEqual(other.bot_users, []);
  });

  it("P2: filters of lists are refused with the place where they cannot be read", async () => {
    for (const filter of ["", "obj.", "obj.name == 1", "obj.token == 'x'"]) {
      const response = await api.request("GET", `/bot_users?filter=${encodeURIComponent(filter)}`);
      assert.deepEqual([response.status, response.body.error_code], [400, errorCode("filter_invalid")], filter);
    }
    const twice = await api.request("GET", "/bot_users?filter=true&filter=true");
    assert.equal(twice.body.error_code, errorCode("query_invalid"));
    const future = await api.request("GET", "/bot_users?filter=true&at_revision=999999999");
    assert.equal(future.body.error_code, errorCode("revision_unknown"));
  });

  it("filters of lists apply to the state at a revision, over pages, including deleted objects and excluding later changes", async () => {
    const made = await Promise.all([1, 2, 3].map((at) => api.ok("POST", "/bot_users", { name: `owl ${at}` })));
    const { headers } = await api.request("GET", "/bot_users?limit=1");
    await api.request("DELETE", `/bot_users/${made[0]?.id}`);
    await api.ok("PATCH", `/bot_users/${made[1]?.id}`, { name: "a lark" });
    await api.ok("POST", "/bot_users", { name: "owl 4" });
    const owls = 'obj.name.startsWith("owl")';
    const now = await list(owls);
    assert.deepEqual(now.bot_users.map(({ name }) => name).sort(), ["owl 3", "owl 4"]);
    const first = await list(owls, `&limit=2&at_revision=${headers["postern-revision"]}`);
    const rest = await api.ok("GET", first.next_page_uri.slice(api.baseUrl.length));
    assert.equal(rest.next_page_uri, null);
    const then = [...first.bot_users, ...rest.bot_users] as readonly { name: string }[];
    assert.deepEqual(then.map(({ name }) => name).sort(), ["owl 1", "owl 2", "owl 3"]);
  });

  it("filters of lists look at references by id, and at live objects", async () => {
    const policy = await api.ok("POST", "/ip_policies", {});
    const rule = { ip_policy_id: policy.id, cidr: "192.0.2.0/24", action: "allow" };
    await api.ok("POST", "/ip_policy_rules", rule);
    const filter = encodeURIComponent(`obj.ip_policy.id == "${policy.id}" && obj.action in ["allow"]`);
    assert.equal((await api.ok("GET", `/ip_policy_rules?filter=${filter}`)).ip_policy_rules.length, 1);
    assert.deepEqual(
      (await api.ok("GET", `/tunnels?filter=${encodeURIComponent("obj.proto == 'https'")}`)).tunnels,
      [],
    );
  });
});
