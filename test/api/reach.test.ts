/**
 * A key limited to one team's objects sees and changes nothing of another team, including side effects of its calls.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { describedOperations } from "../../src/api/operations.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { ApiResponse, Body, TestApi } from "../support/api.ts";
import { edgeAnswers, otherCalls } from "../support/other-calls.ts";
import { databases } from "../support/postgres.ts";
import { makeWorld, seedWorld } from "../support/world.ts";

const theirs = { metadata: "team-b/1" };
const ours = { metadata: "team-a/1" };

for (const database of databases) {
  describe(`the reach of a limited key on ${database.name}`, () => {
    let api: TestApi;
    let key: string;
    before(async () => {
      api = await startApi(database, { seed: seedWorld });
      key = (await api.ok("POST", "/api_keys", { scopes: ["read", "write", "metadata:team-a"] })).token;
    });
    after(() => api.stop());

    const call = (method: string, path: string, body?: unknown, as = key): Promise<ApiResponse> =>
      api.request(method, path, { key: as, ...(body !== undefined && { body }) });
    const refused = (response: ApiResponse, scope: string): void => {
      assert.deepEqual([response.status, response.body.error_code], [403, errorCode("scope_missing")], response.text);
      assert.equal(response.body.details.scope, scope, response.text);
    };
    const sharedEdge = async (): Promise<{ edge: Body; route: Body }> => {
      const edge = await api.ok("POST", "/edges/https", ours);
      const body = { ...theirs, match_type: "path_prefix", match: "/" };
      return { edge, route: await api.ok("POST", `/edges/https/${edge.id}/routes`, body) };
    };

    it(`K5: no operation on ${database.name} lets a limited key read or change another team's object`, async () => {
      const world = makeWorld(api);
      const others = otherCalls(api, world);
      const account = (await api.ok("GET", "/accounts")).accounts.at(-1).id;
      api.edge.answer = edgeAnswers(() => account);
      api.edge.send({ type: "hello", edgeId: "edge" });
      for (const operation of describedOperations()) {
        const { id, method, resource, open, listKey } = operation;
        if (open) continue;
        const { path, body } = resource
          ? await world.callFor(operation)
          : await (others[id] as (typeof others)[string])();
        const revision = (await api.request("GET", "/ip_policies")).headers["postern-revision"];
        for (const given of body ? [body, { ...body, ...ours }] : [undefined]) {
          const response = await call(method, path, given);
          if (listKey !== undefined && response.status === 200) {
            for (const { metadata } of response.body[listKey]) assert.ok(metadata.startsWith("team-a"), id);
            continue;
          }
          // A key may create objects without owner and references.
          const isOwn = operation.verb === "create" && given?.["metadata"] === ours.metadata;
          if (isOwn && response.status === 201) {
            assert.ok(JSON.stringify(response.body).includes(ours.metadata), response.text);
            continue;
          }
          assert.ok([400, 403, 404, 409].includes(response.status), `${id}: ${response.status} ${response.text}`);
          const now = (await api.request("GET", "/ip_policies")).headers["postern-revision"];
          if (!isOwn) assert.equal(now, revision, `${id} has written`);
        }
      }
    });

    it(`K5: a limited key on ${database.name} cannot delete or change an owner of other teams' objects`, async () => {
      const { edge, route } = await sharedEdge();
      const path = `/edges/https/${edge.id}`;
      refused(await call("DELETE", path), "metadata:team-b/1");
      refused(await call("PATCH", path, { hostports: ["moved.example.com:443"] }), "metadata:team-b/1");
      refused(await call("PUT", `${path}/tls_termination`, { min_version: "1.3" }), "metadata:team-b/1");
      assert.equal((await api.ok("GET", path)).routes[0].id, route.id);
      const policy = await api.ok("POST", "/ip_policies", ours);
      const rule = { ip_policy_id: policy.id, cidr: "192.0.2.0/24", action: "allow" };
      const { id } = await api.ok("POST", "/ip_policy_rules", { ...rule, ...theirs });
      refused(await call("DELETE", `/ip_policies/${policy.id}`), "metadata:team-b/1");
      assert.equal((await api.ok("GET", `/ip_policy_rules/${id}`)).cidr, rule.cidr);
      const vault = await api.ok("POST", "/vaults", { name: "shared", ...ours });
      await api.ok("POST", "/vault_secrets", { name: "s", value: "v", vault_id: vault.id, ...theirs });
      refused(await call("DELETE", `/vaults/${vault.id}`), "metadata:team-b/1");
      await api.ok("DELETE", `${path}/routes/${route.id}`);
      assert.equal((await call("PATCH", path, { description: "alone" })).status, 200);
      assert.equal((await call("DELETE", path)).status, 204);
    });

    it(`K5: a limited key on ${database.name} cannot change or delete objects that belong to other teams' objects`, async () => {
      const policy = await api.ok("POST", "/ip_policies", theirs);
      const rule = { ip_policy_id: policy.id, cidr: "192.0.2.0/24", action: "allow", ...ours };
      const { id } = await api.ok("POST", "/ip_policy_rules", rule);
      refused(await call("PATCH", `/ip_policy_rules/${id}`, { cidr: "0.0.0.0/0" }), "metadata:team-b/1");
      refused(await call("DELETE", `/ip_policy_rules/${id}`), "metadata:team-b/1");
    });

    it(`K5: a limited key on ${database.name} reads an edge without others' routes, whose number its ETag does not reveal`, async () => {
      const { edge, route } = await sharedEdge();
      const mine = await api.ok("POST", `/edges/https/${edge.id}/routes`, {
        ...ours,
        match_type: "path_prefix",
        match: "/a",
      });
      const path = `/edges/https/${edge.id}`;
      const seen = await call("GET", path);
      assert.deepEqual(
        seen.body.routes.map(({ id }: Body) => id),
        [mine.id],
      );
      for (const where of [path, "/edges/https", `/edges/https?filter=${encodeURIComponent("obj.id != ''")}`]) {
        const { text } = await call("GET", where);
        assert.ok(text.includes(mine.id) && !text.includes(route.id) && !text.includes("team-b"), where);
      }
      await api.ok("PATCH", `${path}/routes/${route.id}`, { description: "changed" });
      assert.equal((await call("GET", path)).headers["etag"], seen.headers["etag"]);
    });

    it(`K5: a limited key on ${database.name} takes no name or port from others' reservations`, async () => {
      await api.ok("POST", "/reserved_domains", { domain: "shop.example.com", ...theirs });
      await api.ok("POST", "/reserved_domains", { domain: "*.b.example.com", ...theirs });
      const edge = (hostport: string) => ({ ...ours, hostports: [hostport] });
      for (const host of ["shop.example.com", "any.b.example.com", "deep.any.b.example.com"]) {
        refused(await call("POST", "/edges/https", edge(`${host}:443`)), "metadata:team-b/1");
        refused(await call("POST", "/edges/tls", edge(`${host}:8443`)), "metadata:team-b/1");
        const endpoint = {
          ...ours,
          type: "cloud",
          url: `https://${host}`,
          traffic_policy: "on_http_request: [{ actions: [{ type: deny }] }]",
        };
        refused(await call("POST", "/endpoints", endpoint), "metadata:team-b/1");
      }
      refused(await call("POST", "/reserved_domains", { domain: "new.b.example.com", ...ours }), "metadata:team-b/1");
      const { addr } = await api.ok("POST", "/reserved_addrs", theirs);
      refused(await call("POST", "/edges/tcp", edge(addr)), "metadata:team-b/1");
      const made = await call("POST", "/edges/https", ours);
      refused(await call("PATCH", `/edges/https/${made.body.id}`, edge("shop.example.com:443")), "metadata:team-b/1");
    });

    it(`K5: a limited key on ${database.name} names no object of others in a traffic policy, however it is written`, async () => {
      const { id } = await api.ok("POST", "/ip_policies", theirs);
      const own = await api.ok("POST", "/ip_policies", ours);
      const policy = (one: string): string =>
        `on_tcp_connect: [{ actions: [{ type: restrict-ips, config: { ip_policies: ["${one}"] } }] }]`;
      const edge = (one: string) => ({ ...ours, traffic_policy: { value: policy(one) } });
      refused(await call("POST", "/edges/tcp", edge(id)), "metadata:team-b/1");
      refused(await call("POST", "/edges/tls", edge(id.replace("i", "\\x69"))), "metadata:team-b/1");
      const made = await call("POST", "/edges/tls", edge(own.id));
      assert.equal(made.status, 201, made.text);
      await api.ok("PUT", `/edges/tls/${made.body.id}/traffic_policy`, { value: policy(id) });
      assert.equal((await call("PATCH", `/edges/tls/${made.body.id}`, { description: "x" })).status, 200);
    });

    it(`K5: a limited key on ${database.name} reserves its names for the owners of what it creates`, async () => {
      const made = await call("POST", "/edges/https", { ...ours, hostports: ["own.example.net:443"] });
      assert.equal(made.status, 201, made.text);
      const again = await call("POST", "/edges/tls", { ...ours, hostports: ["own.example.net:8443"] });
      assert.equal(again.status, 201, again.text);
      const { reserved_domains } = (await call("GET", "/reserved_domains")).body;
      const own = reserved_domains.find(({ domain }: Body) => domain === "own.example.net");
      assert.equal(own.metadata, ours.metadata);
      const tcp = await call("POST", "/edges/tcp", { ...ours, hostports: ["postern.test:20123"] });
      assert.equal(tcp.status, 201, tcp.text);
      assert.equal((await call("GET", "/reserved_addrs")).body.reserved_addrs[0].metadata, ours.metadata);
    });

    it(`K5: a limited key on ${database.name} does not learn which foreign object holds a name or blocks a deletion`, async () => {
      const holder = await api.ok("POST", "/vaults", { name: "held", ...theirs });
      const held = await call("POST", "/vaults", { name: "held", ...ours });
      assert.equal(held.status, 409);
      const backend = await api.ok("POST", "/backends/static", { ...ours, address: "192.0.2.7:80" });
      const user = await api.ok("POST", "/backends/weighted", { ...theirs, backends: { [backend.id]: 1 } });
      const used = await call("DELETE", `/backends/static/${backend.id}`);
      assert.equal(used.status, 409);
      for (const { text } of [held, used]) {
        assert.ok(!text.includes(holder.id) && !text.includes(user.id) && !text.includes("_uri"), text);
      }
      assert.ok((await api.request("DELETE", `/backends/static/${backend.id}`)).text.includes(user.id));
    });

    it(`K5: a limited key on ${database.name} has no events sent, and no account restricted: both are about more than it sees`, async () => {
      const webhook = (url: string) => ({ ...ours, target: { webhook: { url } } });
      const destination = await call("POST", "/event_destinations", webhook("https://192.0.2.1/a"));
      assert.equal(destination.status, 201, destination.text);
      const subscription = {
        ...ours,
        sources: [{ type: "vault_created.v0" }],
        destination_ids: [destination.body.id],
      };
      refused(await call("POST", "/event_subscriptions", subscription), "metadata:");
      const { id } = await api.ok("POST", "/event_subscriptions", subscription);
      refused(await call("PATCH", `/event_subscriptions/${id}`, { description: "x" }), "metadata:");
      const path = `/event_destinations/${destination.body.id}`;
      refused(await call("PATCH", path, webhook("https://192.0.2.1/elsewhere")), "metadata:");
      assert.equal((await call("DELETE", `/event_subscriptions/${id}`)).status, 204);
      assert.equal((await call("PATCH", path, webhook("https://192.0.2.1/b"))).status, 200);
      const policy = await api.ok("POST", "/ip_policies", ours);
      const restriction = { ...ours, type: "endpoints", ip_policy_ids: [policy.id] };
      refused(await call("POST", "/ip_restrictions", restriction), "*");
      const narrow = (await api.ok("POST", "/api_keys", { scopes: ["type:event_subscription"] })).token;
      const body = { sources: [{ type: "vault_created.v0" }], destination_ids: [destination.body.id] };
      refused(await call("POST", "/event_subscriptions", body, narrow), "type:vault");
      const traffic = { ...body, sources: [{ type: "http_request_complete.v0" }] };
      refused(await call("POST", "/event_subscriptions", traffic, narrow), "type:*");
    });

    it(`K5: a limited key on ${database.name} hands out agent tokens for its own names and labels only`, async () => {
      await api.ok("POST", "/reserved_domains", { domain: "agents.example.org", ...ours });
      await api.ok("POST", "/reserved_domains", { domain: "*.many.example.org", ...ours });
      await api.ok("POST", "/reserved_domains", { domain: "one.many.example.org", ...theirs });
      await api.ok("POST", "/backends/tunnel_group", { labels: { app: "theirs", zone: "1" }, ...theirs });
      const token = (...acl: string[]) => call("POST", "/credentials", { ...ours, acl });
      for (const acl of [
        [],
        ["*"],
        ["bind:*"],
        ["bind:shop.example.com"],
        ["bind:*.many.example.org"],
        ["bind:app=theirs", "bind:zone=*"],
        ["bind:*=*"],
      ]) {
        refused(await token(...acl), "*");
      }
      for (const acl of [["bind:agents.example.org"], ["bind:agents.example.org:443"], ["bind:app=theirs"]]) {
        const made = await token(...acl);
        assert.equal(made.status, 201, made.text);
        refused(await call("PATCH", `/credentials/${made.body.id}`, { acl: [] }), "*");
        assert.equal((await call("PATCH", `/credentials/${made.body.id}`, { description: "x" })).status, 200);
      }
    });

    it(`K5: a limited key on ${database.name} names no tunnels of others at its backends`, async () => {
      const backend = await api.ok("POST", "/backends/tunnel_group", { labels: { app: "live" }, ...ours });
      const account = (await api.ok("GET", "/accounts")).accounts.at(-1).id;
      const shared = { accountId: account, credentialId: "cr_x", region: "local", startedAt: "2026-01-01T00:00:00Z" };
      const tunnel = (id: string, metadata: string) => ({
        ...shared,
        id,
        metadata,
        sessionId: "ts_0",
        forwardsTo: "localhost:80",
        labels: { app: "live" },
      });
      const [a, b] = [`tn_${"a".repeat(27)}`, `tn_${"b".repeat(27)}`];
      api.edge.send({ type: "tunnel_opened", tunnel: tunnel(a, ours.metadata) });
      api.edge.send({ type: "tunnel_opened", tunnel: tunnel(b, theirs.metadata) });
      const path = `/backends/tunnel_group/${backend.id}`;
      assert.deepEqual((await api.ok("GET", path)).tunnels.length, 2);
      assert.deepEqual(
        (await call("GET", path)).body.tunnels.map(({ id }: Body) => id),
        [a],
      );
      assert.ok(!(await call("GET", "/tunnels")).text.includes(b));
      refused(await call("GET", `/tunnels/${b}`), "metadata:team-b/1");
    });

    it(`K5: a limited key on ${database.name} gets no idempotent answer again that it may not see any more`, async () => {
      const send = (as: string): Promise<ApiResponse> =>
        api.request("POST", "/vaults", {
          key: as,
          body: { name: "told once", ...ours },
          headers: { "idempotency-key": "reach-1" },
        });
      const made = await send(key);
      assert.equal(made.status, 201, made.text);
      assert.equal((await send(key)).body.id, made.body.id);
      const other = (await api.ok("POST", "/api_keys", { scopes: ["metadata:team-a"] })).token;
      assert.equal((await send(other)).status, 422);
      await api.ok("PATCH", `/vaults/${made.body.id}`, theirs);
      const again = await send(key);
      refused(again, "metadata:team-b/1");
      assert.ok(!again.text.includes(made.body.id));
    });

    it(`K5: a limited key on ${database.name} that is limited to kinds reaches no others by side effects`, async () => {
      const narrow = (await api.ok("POST", "/api_keys", { scopes: ["type:https_edge", "type:ip_policy"] })).token;
      const { edge, route } = await sharedEdge();
      const path = `/edges/https/${edge.id}`;
      assert.deepEqual((await call("GET", path, undefined, narrow)).body.routes, []);
      assert.ok(!(await call("GET", `${path}?at_revision=${await now()}`, undefined, narrow)).text.includes(route.id));
      refused(await call("DELETE", path, undefined, narrow), "type:https_edge_route");
      const made = await call("POST", "/edges/https", { hostports: ["kinds.example.net:443"] }, narrow);
      assert.equal(made.status, 201, made.text);
    });

    const now = async (): Promise<string> =>
      (await api.request("GET", "/ip_policies")).headers["postern-revision"] as string;
  });
}
