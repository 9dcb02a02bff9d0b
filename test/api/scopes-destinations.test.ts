import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { ApiResponse, Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

const hidden = { add: { authorization: "Bearer upstream-secret" } };
const addsHeader = (more: readonly unknown[] = []): string =>
  JSON.stringify({
    on_http_request: [{ actions: [{ type: "add-headers", config: { headers: { "x-key": "hidden" } } }, ...more] }],
  });
const forwards = { type: "forward-internal", config: { url: "https://api.internal" } };

for (const database of databases) {
  describe(`hidden values on ${database.name}`, () => {
    let api: TestApi;
    let blind: string;
    let edge: Body;
    let own: Body;
    let other: Body;
    let count = 0;
    before(async () => {
      api = await startApi(database);
      blind = (await api.ok("POST", "/api_keys", { scopes: ["write"] })).token;
      edge = await api.ok("POST", "/edges/https", {});
      own = await group("own");
      other = await group("other");
    });
    after(() => api.stop());

    const group = (app: string): Promise<Body> => api.ok("POST", "/backends/tunnel_group", { labels: { app } });
    const route = async (more: object, backend: Body = own): Promise<string> => {
      count += 1;
      const body = { match_type: "path_prefix", match: `/${count}`, backend: { backend_id: backend.id }, ...more };
      return `/edges/https/${edge.id}/routes/${(await api.ok("POST", `/edges/https/${edge.id}/routes`, body)).id}`;
    };
    const call = (method: string, path: string, body?: unknown, key = blind): Promise<ApiResponse> =>
      api.request(method, path, { key, ...(body !== undefined && { body }) });
    const refused = async (method: string, path: string, body?: unknown): Promise<void> => {
      const response = await call(method, path, body);
      assert.deepEqual([response.status, response.body.error_code], [403, errorCode("scope_missing")], response.text);
      assert.equal(response.body.details.scope, "secrets");
      assert.ok(!response.text.includes("upstream-secret"));
    };
    const taken = async (method: string, path: string, body?: unknown, key = blind): Promise<ApiResponse> => {
      const response = await call(method, path, body, key);
      assert.ok(response.status < 300, `${method} ${path}: ${response.text}`);
      return response;
    };

    it(`K5: on ${database.name} a key without "secrets" sends a route's hidden header fields to no other backend`, async () => {
      const path = await route({ request_headers: hidden });
      await refused("PATCH", path, { backend: { backend_id: other.id } });
      await refused("PUT", `${path}/backend`, { backend_id: other.id });
      await refused("PATCH", path, {
        backend: { backend_id: other.id },
        request_headers: { add: { authorization: "***" } },
      });
      await taken("PATCH", path, { description: "changed", match: "/elsewhere" });
      await taken("PATCH", path, { request_headers: { add: { authorization: "***", "x-more": "1" } } });
      await taken("PATCH", path, { backend: { backend_id: other.id }, request_headers: hidden, match: "/anew" });
      await taken("DELETE", `${path}/request_headers`);
      await taken("PUT", `${path}/backend`, { backend_id: own.id });
      const seeing = (await api.ok("POST", "/api_keys", { scopes: ["write", "secrets"] })).token;
      const second = await route({ request_headers: hidden });
      await taken("PUT", `${second}/backend`, { backend_id: other.id }, seeing);
    });

    it(`K5: on ${database.name} a key without "secrets" has no policy and no response repeat a route's hidden header fields`, async () => {
      const path = await route({ request_headers: hidden });
      const echo = "${req.headers['authorization'][0]}";
      const value = JSON.stringify({
        on_http_response: [{ actions: [{ type: "add-headers", config: { headers: { "x-echo": echo } } }] }],
      });
      await refused("PUT", `${path}/traffic_policy`, { value });
      await refused("PATCH", path, { response_headers: { add: { "x-echo": "${req.headers}" } } });
      await taken("PUT", `${path}/response_headers`, { add: { "x-plain": "1" } });
      await taken("PATCH", path, { traffic_policy: { value }, request_headers: hidden });
    });

    it(`K5: on ${database.name} a key without "secrets" moves no backend that routes send hidden values to`, async () => {
      const [inner, address] = [
        await group("moved"),
        await api.ok("POST", "/backends/static", { address: "198.51.100.1:80" }),
      ];
      const outer = await api.ok("POST", "/backends/weighted", { backends: { [inner.id]: 1 } });
      await route({ request_headers: hidden }, outer);
      await route({ traffic_policy: { value: addsHeader() } }, address);
      await refused("PATCH", `/backends/tunnel_group/${inner.id}`, { labels: { app: "mine" } });
      await refused("PATCH", `/backends/weighted/${outer.id}`, { backends: { [inner.id]: 1, [other.id]: 1 } });
      await refused("PATCH", `/backends/static/${address.id}`, { address: "198.51.100.2:80" });
      await taken("PATCH", `/backends/tunnel_group/${inner.id}`, { description: "a note" });
      const free = await group("free");
      await route({}, free);
      await taken("PATCH", `/backends/tunnel_group/${free.id}`, { labels: { app: "free too" } });
    });

    it(`K5: on ${database.name} a key without "secrets" shows no hidden answer of a backend at another place`, async () => {
      const answer = await api.ok("POST", "/backends/http_response", { body: "upstream-secret" });
      const path = await route({});
      await refused("PUT", `${path}/backend`, { backend_id: answer.id });
      await refused("POST", "/backends/failover", { backends: [answer.id] });
      const empty = await api.ok("POST", "/backends/http_response", { status_code: 404 });
      await taken("PUT", `${path}/backend`, { backend_id: empty.id });
    });

    it(`K5: on ${database.name} a key without "secrets" makes no agent token that receives hidden values`, async () => {
      const served = await group("served");
      await route({ request_headers: hidden }, served);
      await refused("POST", "/credentials", {});
      await refused("POST", "/credentials", { acl: ["bind:app=served"] });
      await refused("POST", "/credentials", { acl: ["bind:app=*"] });
      const { body } = await taken("POST", "/credentials", { acl: ["bind:app=free"] });
      await refused("PATCH", `/credentials/${body.id}`, { acl: ["bind:app=serv*"] });
      await taken("PATCH", `/credentials/${body.id}`, { description: "a note" });
    });

    it(`K5: on ${database.name} a key without "secrets" is no internal endpoint that policies send hidden values to`, async () => {
      const endpoint = (policy: string) => ({ url: "https://api.internal", type: "cloud", traffic_policy: policy });
      const deny = JSON.stringify({ on_http_request: [{ actions: [{ type: "deny" }] }] });
      const made = await taken("POST", "/endpoints", endpoint(deny));
      await taken("POST", "/credentials", { acl: ["bind:*.internal"] });
      await route({ traffic_policy: { value: addsHeader([forwards]) } });
      await refused("PATCH", `/endpoints/${made.body.id}`, { traffic_policy: addsHeader([forwards]) });
      await refused("POST", "/endpoints", { ...endpoint(deny), url: "https://other.internal" });
      await refused("POST", "/credentials", { acl: ["bind:*.internal"] });
      await taken("PATCH", `/endpoints/${made.body.id}`, { description: "a note" });
    });

    it(`K5: on ${database.name} a key without "secrets" gives no secret another name that policies read`, async () => {
      const vault = await api.ok("POST", "/vaults", { name: "destinations" });
      const secret = await api.ok("POST", "/vault_secrets", { name: "key", value: "1", vault_id: vault.id });
      await refused("PATCH", `/vaults/${vault.id}`, { name: "renamed" });
      await refused("PATCH", `/vault_secrets/${secret.id}`, { name: "renamed" });
      await taken("PATCH", `/vault_secrets/${secret.id}`, { name: "renamed", value: "2" });
      await taken("PATCH", `/vaults/${vault.id}`, { description: "a note" });
    });

    it(`K5: on ${database.name} a key without "secrets" cannot redirect hidden values by a document or a rollback`, async () => {
      const [from, to] = [await group("from"), await group("to")];
      const made = await api.request("POST", `/edges/https/${edge.id}/routes`, {
        body: { match_type: "path_prefix", match: "/history", backend: { backend_id: to.id } },
      });
      const path = `/edges/https/${edge.id}/routes/${made.body.id}`;
      const revision = Number(made.headers["postern-revision"]);
      await api.ok("PATCH", path, { backend: { backend_id: from.id }, request_headers: hidden });
      const later = Number((await call("GET", path)).headers["postern-revision"]);
      await api.ok("PATCH", path, { backend: { backend_id: to.id }, request_headers: null });
      await refused("POST", `/revisions/${later}/rollback`);
      await api.ok("POST", `/revisions/${later}/rollback`);
      await taken("POST", `/revisions/${revision}/rollback?dry_run=true`);
      const entry = (add: object) => ({
        objects: {
          https_edge_route: {
            moved: {
              id: made.body.id,
              edge_id: edge.id,
              match_type: "path_prefix",
              match: "/history",
              backend: { backend_id: to.id },
              request_headers: { add },
            },
          },
        },
      });
      await refused("POST", "/plan", entry({ authorization: "***" }));
      await refused("POST", "/apply", entry({ authorization: "***" }));
      await taken("POST", "/apply", entry({ authorization: "Bearer mine" }));
    });
  });
}
