import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { ApiResponse, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

for (const database of databases) {
  describe(`resources on ${database.name}`, () => {
    let api: TestApi;
    before(async () => {
      api = await startApi(database);
    });
    after(() => api.stop());

    it(`the API on ${database.name} creates a bot user that is active by default, and changes it`, async () => {
      const created = await api.request("POST", "/bot_users", { body: { name: "deployer" } });
      assert.equal(created.status, 201);
      assert.equal(created.body.active, true);
      assert.match(created.body.id, /^bot_[0-9a-z]{27}$/);
      assert.equal(created.body.uri, `${api.baseUrl}/bot_users/${created.body.id}`);
      const changed = await api.ok("PATCH", `/bot_users/${created.body.id}`, { active: false });
      assert.deepEqual(changed, { ...created.body, active: false });
      assert.deepEqual(await api.ok("GET", `/service_users/${created.body.id}`), changed);
      assert.equal((await api.request("DELETE", `/bot_users/${created.body.id}`)).status, 204);
      assert.equal((await api.request("GET", `/bot_users/${created.body.id}`)).status, 404);
    });

    it(`the API on ${database.name} refuses a second bot user of the same name and names the holder`, async () => {
      const first = await api.ok("POST", "/bot_users", { name: "twice" });
      const second = await api.request("POST", "/bot_users", { body: { name: "twice" } });
      assert.equal(second.status, 409);
      assert.equal(second.body.details.holder_id, first.id);
      assert.equal(second.body.details.holder_uri, first.uri);
    });

    it(`the API on ${database.name} stores IP policies with rules, each CIDR once`, async () => {
      const policy = await api.ok("POST", "/ip_policies", { description: "office" });
      const body = { ip_policy_id: policy.id, cidr: "192.0.2.0/24", action: "allow" };
      const rule = await api.ok("POST", "/ip_policy_rules", body);
      assert.deepEqual(rule.ip_policy, { id: policy.id, uri: policy.uri });
      assert.equal(
        (await api.request("POST", "/ip_policy_rules", { body })).body.error_code,
        errorCode("cidr_duplicate"),
      );
      const wrong = await api.request("PATCH", `/ip_policy_rules/${rule.id}`, { body: { cidr: "192.0.2.1/24" } });
      assert.equal(wrong.body.error_code, errorCode("cidr_invalid"));
      assert.match(wrong.body.details.cidr, /192\.0\.2\.0\/24/);
      const fixed = await api.request("PATCH", `/ip_policy_rules/${rule.id}`, { body: { action: "deny" } });
      assert.equal(fixed.status, 400);
      assert.equal((await api.request("DELETE", `/ip_policies/${policy.id}`)).status, 204);
      assert.equal((await api.request("GET", `/ip_policy_rules/${rule.id}`)).status, 404);
    });

    it(`the API on ${database.name} refuses fixed HTTP responses for whole connections, at any depth`, async () => {
      const fixed = await api.ok("POST", "/backends/http_response", { body: "hello" });
      const group = await api.ok("POST", "/backends/tunnel_group", { labels: { app: "db" } });
      const failover = await api.ok("POST", "/backends/failover", { backends: [group.id, fixed.id] });
      const weighted = await api.ok("POST", "/backends/weighted", { backends: { [failover.id]: 1 } });
      const refused = (response: ApiResponse) => {
        assert.deepEqual(
          [response.status, response.body.error_code],
          [400, errorCode("backend_needs_http")],
          response.text,
        );
        assert.match(response.body.msg, new RegExp(fixed.id));
      };
      for (const kind of ["tcp", "tls"]) {
        for (const { id } of [fixed, failover, weighted]) {
          refused(await api.request("POST", `/edges/${kind}`, { body: { backend: { backend_id: id } } }));
        }
        const edge = await api.ok("POST", `/edges/${kind}`, {});
        refused(await api.request("PUT", `/edges/${kind}/${edge.id}/backend`, { body: { backend_id: failover.id } }));
        const inner = await api.ok("POST", "/backends/failover", { backends: [group.id] });
        const outer = await api.ok("POST", "/backends/weighted", { backends: { [inner.id]: 1 } });
        await api.ok("PUT", `/edges/${kind}/${edge.id}/backend`, { backend_id: outer.id });
        const body = { backends: [group.id, fixed.id] };
        refused(await api.request("PATCH", `/backends/failover/${inner.id}`, { body }));
        refused(await api.request("PATCH", `/backends/failover/${inner.id}`, { body: { backends: [weighted.id] } }));
        await api.ok("PATCH", `/backends/failover/${inner.id}`, { description: "unchanged" });
        await api.ok("DELETE", `/edges/${kind}/${edge.id}/backend`);
        await api.ok("PATCH", `/backends/failover/${inner.id}`, body);
      }
      const edge = await api.ok("POST", "/edges/https", {});
      const route = { match_type: "path_prefix", match: "/", backend: { backend_id: weighted.id } };
      await api.ok("POST", `/edges/https/${edge.id}/routes`, route);
      const objects = {
        http_response_backend: { hello: { body: "hello" } },
        failover_backend: { both: { backends: ["hello"] } },
        tcp_edge: { port: { backend: { backend_id: "both" } } },
      };
      const planned = await api.request("POST", "/plan", { body: { objects } });
      assert.deepEqual([planned.status, planned.body.error_code], [400, errorCode("backend_needs_http")], planned.text);
    });

    it(`the API on ${database.name} chooses TCP addresses among the ports that the platform gives out`, async () => {
      const narrow = await startApi(database, { tcpPorts: { first: 31_000, last: 31_001 } });
      try {
        const taken = [
          await narrow.ok("POST", "/reserved_addrs", {}),
          await narrow.ok("POST", "/reserved_addrs", {}),
        ].map(({ addr }) => addr as string);
        assert.deepEqual(taken.sort(), ["postern.test:31000", "postern.test:31001"]);
        const full = await narrow.request("POST", "/reserved_addrs", { body: {} });
        assert.deepEqual([full.status, full.body.error_code], [409, errorCode("hostport_held")]);
        assert.match(full.body.msg, /31000 to 31001/);
      } finally {
        await narrow.stop();
      }
    });

    it(`the API on ${database.name} serves an edge with its routes inside and modules on both`, async () => {
      const backend = await api.ok("POST", "/backends/tunnel_group", { labels: { app: "web" } });
      assert.deepEqual(backend.tunnels, []);
      const edge = await api.ok("POST", "/edges/https", { hostports: ["App.example.com:443"] });
      assert.deepEqual([edge.hostports, edge.routes, edge.tls_termination], [["app.example.com:443"], [], null]);
      const path = `/edges/https/${edge.id}/routes`;
      const body = { match_type: "path_prefix", match: "/", backend: { backend_id: backend.id } };
      const route = await api.ok("POST", path, body);
      assert.deepEqual(route.backend, { enabled: true, backend: { id: backend.id, uri: backend.uri } });
      assert.equal(route.uri, `${edge.uri}/routes/${route.id}`);
      assert.deepEqual((await api.ok("GET", `/edges/https/${edge.id}`)).routes, [route]);
      assert.deepEqual(await api.ok("GET", `${path}/${route.id}/backend`), route.backend);
      const inUse = await api.request("DELETE", `/backends/tunnel_group/${backend.id}`);
      assert.equal(inUse.status, 409);
      assert.equal(inUse.body.details.referrer_uri, route.uri);
      assert.equal((await api.request("DELETE", `${path}/${route.id}/backend`)).status, 204);
      assert.equal(
        (await api.request("GET", `${path}/${route.id}/backend`)).body.error_code,
        errorCode("module_unset"),
      );
      assert.equal((await api.ok("GET", `${path}/${route.id}`)).backend, null);
      const other = await api.ok("POST", "/edges/https", {});
      assert.equal((await api.request("GET", `/edges/https/${other.id}/routes/${route.id}`)).status, 404);
      assert.equal((await api.request("DELETE", `/edges/https/${edge.id}`)).status, 204);
      assert.equal((await api.request("GET", `${path}/${route.id}`)).status, 404);
    });

    it(`R4: the API on ${database.name} treats an address as a range of one, and shows it as it was sent`, async () => {
      const policy = await api.ok("POST", "/ip_policies", {});
      const make = (cidr: string) =>
        api.request("POST", "/ip_policy_rules", { body: { ip_policy_id: policy.id, cidr, action: "deny" } });
      for (const [cidr, same] of [
        ["192.0.2.7", "192.0.2.7/32"],
        ["2001:DB8::7/128", "2001:db8::7"],
      ] as const) {
        const made = await make(cidr);
        assert.deepEqual([made.status, made.body.cidr], [201, cidr]);
        const again = await make(same);
        assert.deepEqual([again.status, again.body.error_code], [409, errorCode("cidr_duplicate")]);
        const changed = await api.ok("PATCH", `/ip_policy_rules/${made.body.id}`, { cidr: same });
        assert.equal(changed.cidr, same);
      }
      assert.equal((await make("192.0.2")).body.error_code, errorCode("cidr_invalid"));
    });

    it(`the API on ${database.name} lets routes differ by match type alone, and refuses a repeated match`, async () => {
      const edge = await api.ok("POST", "/edges/https", {});
      const path = `/edges/https/${edge.id}/routes`;
      await api.ok("POST", path, { match_type: "path_prefix", match: "/a" });
      await api.ok("POST", path, { match_type: "exact_path", match: "/a" });
      const again = await api.request("POST", path, { body: { match_type: "exact_path", match: "/a" } });
      assert.deepEqual([again.status, again.body.error_code], [409, errorCode("route_exists")]);
    });

    it(`the API on ${database.name} reserves the domain of a hostport automatically, and gives one hostport to one holder`, async () => {
      const edge = await api.ok("POST", "/edges/https", { hostports: ["held.example.com:443"] });
      const domains = await api.ok("GET", "/reserved_domains");
      assert.ok(domains.reserved_domains.some((one: { domain: string }) => one.domain === "held.example.com"));
      const second = await api.request("POST", "/edges/https", { body: { hostports: ["held.example.com:443"] } });
      assert.deepEqual([second.status, second.body.details.holder_uri], [409, edge.uri]);
      assert.equal(
        (await api.request("POST", "/edges/https", { body: { hostports: ["*.postern.test:443"] } })).status,
        409,
      );
    });

    it(`the API on ${database.name} pages newest first with an absolute URI that ends in null, also while objects go`, async () => {
      const made: string[] = [];
      for (let count = 0; count < 7; count += 1) made.unshift((await api.ok("POST", "/credentials", {})).id);
      const seen: string[] = [];
      let next = `${api.baseUrl}/credentials?limit=3`;
      while (next !== null) {
        const page = await api.ok("GET", next.slice(api.baseUrl.length));
        for (const { id } of page.credentials) seen.push(id);
        if (seen.length === 3) await api.request("DELETE", `/credentials/${seen[2]}`);
        next = page.next_page_uri;
      }
      assert.deepEqual(seen.slice(0, 7), made);
      assert.equal(new Set(seen).size, seen.length);
    });

    it(`K5: the API on ${database.name} shows a token once and stores only its hash`, async () => {
      for (const path of ["/api_keys", "/credentials"]) {
        const created = await api.ok("POST", path, { description: "for once" });
        assert.match(created.token, /^postern_a[kt]_/);
        const read = await api.ok("GET", `${path}/${created.id}`);
        assert.deepEqual(read, { ...created, token: null });
        assert.doesNotMatch(JSON.stringify(await api.ok("GET", path)), /token_hash|fingerprint/);
      }
    });
  });
}
