import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

for (const database of databases) {
  describe(`accounts on ${database.name}`, () => {
    let api: TestApi;
    let tenant: Body;
    before(async () => {
      api = await startApi(database);
      tenant = await api.ok("POST", "/accounts", { name: "tenant" });
    });
    after(() => api.stop());

    it(`accounts on ${database.name} are made by operators, with a first key and token that are shown once`, async () => {
      assert.match(tenant.api_key, /^postern_ak_/);
      assert.match(tenant.authtoken, /^postern_at_/);
      assert.equal((await api.ok("GET", "/bot_users", undefined, tenant.api_key)).bot_users.length, 0);
      const read = await api.ok("GET", `/accounts/${tenant.id}`);
      assert.deepEqual(read, { ...tenant, api_key: null, authtoken: null });
      const { keys } = await api.ok("GET", "/api_keys", undefined, tenant.api_key);
      assert.deepEqual(
        keys.map((one: Body) => one.operator),
        [false],
      );
    });

    it(`accounts on ${database.name} are out of reach of keys that are no operator's, which cannot make themselves one`, async () => {
      const key = tenant.api_key;
      for (const [method, path, body] of [
        ["GET", "/accounts", undefined],
        ["POST", "/accounts", { name: "mine" }],
        ["GET", `/accounts/${tenant.id}`, undefined],
        ["POST", "/api_keys", { operator: true }],
      ] as const) {
        const refused = await api.request(method, path, { key, ...(body && { body }) });
        assert.deepEqual(
          [refused.status, refused.body.error_code],
          [403, errorCode("operator_only")],
          `${method} ${path}`,
        );
      }
      const own = await api.ok("POST", "/api_keys", {}, key);
      const changed = await api.request("PATCH", `/api_keys/${own.id}`, { key, body: { operator: true } });
      assert.equal(changed.status, 400);
    });

    it(`accounts on ${database.name} can rotate the operator's key`, async () => {
      const { token } = await api.ok("POST", "/api_keys", { operator: true });
      assert.equal((await api.request("GET", "/accounts", { key: token })).status, 200);
    });

    it(`P1: accounts on ${database.name} share no hostport or domain, and do not learn who holds one`, async () => {
      await api.ok("POST", "/edges/https", { hostports: ["mine.example.com:443"] });
      await api.ok("POST", "/reserved_domains", { domain: "*.wild.example.com" });
      for (const hostport of ["mine.example.com:443", "mine.example.com:8443", "a.b.wild.example.com:443"]) {
        const refused = await api.request("POST", "/edges/https", {
          key: tenant.api_key,
          body: { hostports: [hostport] },
        });
        assert.equal(refused.status, 409, hostport);
        assert.deepEqual(Object.keys(refused.body.details).toSorted(), ["hostports[0]", "operation_id"]);
      }
      const taken = { hostports: ["tcp.example.com:9000"] };
      await api.ok("POST", "/edges/tcp", taken);
      const other = { hostports: ["other.example.com:9000"] };
      assert.equal((await api.request("POST", "/edges/tcp", { key: tenant.api_key, body: other })).status, 409);
    });

    it(`P1: accounts on ${database.name} get ports outside of --tcp-ports only with an operator's key`, async () => {
      const key = (await api.ok("POST", "/accounts", { name: "with ports" })).api_key;
      const refused = async (path: string, body: object, field: string): Promise<void> => {
        const { status, body: answer } = await api.request("POST", path, { key, body });
        assert.deepEqual([status, answer.error_code], [403, errorCode("port_outside")]);
        assert.ok(answer.details[field]);
        assert.match(answer.msg, /from 20000 to 29999/);
      };
      await refused("/edges/tcp", { hostports: ["ports.example.com:22"] }, "hostports[0]");
      const traffic_policy = JSON.stringify({ on_tcp_connect: [{ actions: [{ type: "deny" }] }] });
      await refused("/endpoints", { type: "cloud", url: "tcp://ports.example.com:25", traffic_policy }, "url");
      const edge = await api.ok("POST", "/edges/tcp", { hostports: ["ports.example.com:20999"] }, key);
      const moved = { hostports: ["ports.example.com:20999", "ports.example.com:22"] };
      const { status, body } = await api.request("PATCH", `/edges/tcp/${edge.id}`, { key, body: moved });
      assert.deepEqual([status, Object.keys(body.details)[0]], [403, "hostports[1]"]);
      await api.ok("POST", "/edges/tcp", { hostports: ["operator.example.com:22"] });
    });

    it(`accounts on ${database.name} can restrict where their keys are used from, and cannot shut themselves out`, async () => {
      const key = (await api.ok("POST", "/accounts", { name: "restricted" })).api_key;
      const policy = await api.ok("POST", "/ip_policies", {}, key);
      const rule = (cidr: string, action: string) =>
        api.ok("POST", "/ip_policy_rules", { ip_policy_id: policy.id, cidr, action }, key);
      await rule("192.0.2.0/24", "allow");
      const body = { type: "api", enforced: true, ip_policy_ids: [policy.id] };
      const refused = await api.request("POST", "/ip_restrictions", { key, body });
      assert.deepEqual([refused.status, refused.body.error_code], [400, errorCode("restriction_shuts_out")]);
      const own = await rule("127.0.0.0/8", "allow");
      await api.ok("POST", "/ip_restrictions", body, key);
      await api.ok("GET", "/bot_users", undefined, key);
      await api.ok("DELETE", `/ip_policy_rules/${own.id}`, undefined, key);
      const denied = await api.request("GET", "/bot_users", { key });
      assert.deepEqual([denied.status, denied.body.error_code], [403, errorCode("api_source_denied")]);
      assert.equal((await api.request("GET", "/bot_users")).status, 200);
    });

    it(`accounts on ${database.name} receive a new address with each reservation`, async () => {
      const reserved = await api.ok("POST", "/reserved_addrs", {}, tenant.api_key);
      assert.match(reserved.addr, /^postern\.test:2\d{4}$/);
      const body = { hostports: [reserved.addr] };
      assert.equal((await api.request("POST", "/edges/tcp", { body })).status, 409);
      assert.equal((await api.request("POST", "/edges/tcp", { body, key: tenant.api_key })).status, 201);
    });
  });
}
