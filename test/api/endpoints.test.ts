/** Currently served endpoints: `/endpoints`. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { endpointIdOf, newId } from "../../src/lib/ids.ts";
import { startApi } from "../support/api.ts";
import type { ApiResponse, Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

for (const database of databases) {
  describe(`endpoints of edges on ${database.name}`, () => {
    let api: TestApi;
    before(async () => {
      api = await startApi(database);
    });
    after(() => api.stop());

    const urls = async (): Promise<string[]> =>
      (await api.ok("GET", "/endpoints")).endpoints.map(({ url }: Body) => url as string).sort();

    it(`endpoints of edges on ${database.name} exist for backends that need no agent`, async () => {
      const fixed = await api.ok("POST", "/backends/http_response", { body: "hello" });
      const address = await api.ok("POST", "/backends/static", { address: "db.example.com:5432" });
      const nested = await api.ok("POST", "/backends/failover", { backends: [address.id] });
      const edge = await api.ok("POST", "/edges/https", { hostports: ["fixed.example.com:443"] });
      assert.deepEqual(await urls(), []);
      const path = `/edges/https/${edge.id}/routes`;
      const route = await api.ok("POST", path, {
        match_type: "path_prefix",
        match: "/",
        backend: { backend_id: fixed.id },
      });
      assert.deepEqual(await urls(), ["https://fixed.example.com"]);
      const backend = { backend_id: nested.id };
      const tcp = await api.ok("POST", "/edges/tcp", { hostports: ["postern.test:30001"], backend });
      assert.deepEqual(await urls(), ["https://fixed.example.com", "tcp://postern.test:30001"]);
      const { endpoints } = await api.ok("GET", "/endpoints");
      for (const one of endpoints) {
        assert.equal(one.type, "edge");
        assert.deepEqual(await api.ok("GET", `/endpoints/${one.id}`), one);
      }
      await api.ok("DELETE", `/edges/tcp/${tcp.id}`);
      await api.ok("DELETE", `${path}/${route.id}/backend`);
      assert.deepEqual(await urls(), []);
    });
  });

  describe(`cloud endpoints on ${database.name}`, () => {
    let api: TestApi;
    before(async () => {
      api = await startApi(database);
    });
    after(() => api.stop());

    const policy = "on_http_request:\n  - actions:\n      - type: deny\n";
    const connect = policy.replace("http_request", "tcp_connect");
    const cloud = (url: string, more: object = {}) => ({ url, type: "cloud", traffic_policy: policy, ...more });
    const refused = (response: ApiResponse, status: number, code: number): void =>
      assert.deepEqual([response.status, response.body.error_code], [status, `ERR_POSTERN_${code}`], response.text);

    it(`cloud endpoints on ${database.name} are made, read, listed, changed and deleted`, async () => {
      const body = cloud("https://one.example.com", { description: "d", metadata: "m", pooling_enabled: true });
      const made = await api.request("POST", "/endpoints", { body });
      assert.equal(made.status, 201, made.text);
      const { id } = made.body;
      const [domain] = (await api.ok("GET", "/reserved_domains?filter=obj.domain=='one.example.com'")).reserved_domains;
      assert.match(id, /^ep_[0-9a-z]{27}$/);
      assert.deepEqual(
        { ...made.body, created_at: "", updated_at: "" },
        {
          ...body,
          id,
          uri: `${api.baseUrl}/endpoints/${id}`,
          created_at: "",
          updated_at: "",
          capture: null,
          bindings: ["public"],
          region: "",
          public_url: body.url,
          proto: "https",
          scheme: "https",
          hostport: "one.example.com:443",
          host: "one.example.com",
          port: 443,
          name: "",
          domain: { id: domain.id, uri: domain.uri },
          tcp_addr: null,
          tunnel: null,
          edge: null,
          tunnel_session: null,
          principal: null,
          upstream_url: "",
          upstream_protocol: "",
        },
      );
      // Both are whole seconds, and the second may change in between.
      assert.ok(Math.abs(Date.parse(made.body.updated_at) - Date.parse(made.body.created_at)) <= 1000, made.text);
      const path = `/endpoints/${id}`;
      assert.deepEqual(await api.ok("GET", path), made.body);
      assert.deepEqual((await api.ok("GET", "/endpoints")).endpoints, [made.body]);
      const changed = await api.ok("PATCH", path, { url: "tls://one.example.com", traffic_policy: connect });
      assert.deepEqual([changed.scheme, changed.traffic_policy, changed.metadata], ["tls", connect, "m"]);
      refused(await api.request("PATCH", path, { body: { type: "cloud" } }), 400, 215);
      assert.equal((await api.request("DELETE", path)).status, 204);
      for (const method of ["GET", "PATCH", "DELETE"]) {
        const body = method === "PATCH" ? {} : undefined;
        refused(await api.request(method, path, { body }), 404, 222);
      }
    });

    it(`cloud endpoints on ${database.name} hold their address against edges and each other, and name the holder`, async () => {
      const https = await api.ok("POST", "/endpoints", cloud("https://held.example.com"));
      const tcp = await api.ok("POST", "/endpoints", {
        url: "tcp://postern.test:30500",
        type: "cloud",
        traffic_policy: connect,
      });
      assert.equal(tcp.tcp_addr.id, (await api.ok("GET", "/reserved_addrs")).reserved_addrs[0].id);
      const attempts: readonly (readonly [string, object, Body])[] = [
        ["/endpoints", cloud("https://held.example.com"), https],
        ["/endpoints", { ...cloud("tls://HELD.example.com:443/"), traffic_policy: connect }, https],
        ["/edges/https", { hostports: ["held.example.com:443"] }, https],
        ["/edges/tls", { hostports: ["held.example.com:443"] }, https],
        ["/edges/tcp", { hostports: ["other.example.com:30500"] }, tcp],
      ];
      for (const [path, body, holder] of attempts) {
        const response = await api.request("POST", path, { body });
        refused(response, 409, 722);
        assert.deepEqual([response.body.details.holder_id, response.body.details.holder_uri], [holder.id, holder.uri]);
      }
      const edge = await api.ok("POST", "/edges/https", { hostports: ["edge.example.com:443"] });
      const response = await api.request("POST", "/endpoints", { body: cloud("https://edge.example.com") });
      refused(response, 409, 722);
      assert.equal(response.body.details.holder_uri, edge.uri);
    });

    it(`P1: cloud endpoints on ${database.name} are of one account, with their domains`, async () => {
      const { api_key: key } = await api.ok("POST", "/accounts", { name: "tenant" });
      const mine = await api.ok("POST", "/endpoints", cloud("https://mine.example.com"));
      for (const method of ["GET", "PATCH", "DELETE"]) {
        const body = method === "PATCH" ? {} : undefined;
        refused(await api.request(method, `/endpoints/${mine.id}`, { key, body }), 404, 222);
      }
      assert.deepEqual((await api.ok("GET", "/endpoints", undefined, key)).endpoints, []);
      refused(await api.request("POST", "/endpoints", { key, body: cloud("https://mine.example.com") }), 409, 413);
    });

    it(`cloud endpoints on ${database.name} are found by id, url and filter, in pages`, async () => {
      const made: Body[] = [];
      for (let index = 0; index < 5; index += 1) {
        made.unshift(await api.ok("POST", "/endpoints", cloud(`https://f${index}.example.com`, { metadata: "found" })));
      }
      const ids = async (query: string): Promise<string[]> => {
        const seen: string[] = [];
        let next: string | null = `/endpoints?${query}`;
        while (next !== null) {
          const page: Body = await api.ok("GET", next);
          seen.push(...page.endpoints.map(({ id }: Body) => id));
          next = page.next_page_uri && page.next_page_uri.slice(api.baseUrl.length);
        }
        return seen;
      };
      const [first, second] = made;
      assert.deepEqual(await ids(`id=${first.id}&id=${second.id}&id=ep_none`), [first.id, second.id]);
      const urls = made.map(({ url }) => `url=${encodeURIComponent(url)}`).join("&");
      assert.deepEqual(
        await ids(`${urls}&limit=2`),
        made.map(({ id }) => id),
      );
      assert.deepEqual(await ids(`id=${first.id}&url=${encodeURIComponent(second.url)}`), []);
      const filter = `filter=${encodeURIComponent("obj.type == 'cloud' && obj.metadata == 'found'")}`;
      assert.deepEqual(
        await ids(`${filter}&limit=2`),
        made.map(({ id }) => id),
      );
      assert.deepEqual(await ids(`${filter}&id=${second.id}`), [second.id]);
    });

    it(`cloud endpoints on ${database.name} are included in documents, the history and the limits of keys`, async () => {
      const entry = { url: "https://doc.example.com", type: "cloud", traffic_policy: policy };
      const document = { document: "endpoints", objects: { cloud_endpoint: { shop: entry } } };
      const applied = await api.request("POST", "/apply", { body: document });
      assert.equal(applied.status, 200, applied.text);
      const { id } = applied.body.changes.find(({ name }: Body) => name === "shop");
      const again = await api.ok("POST", "/plan", await api.ok("GET", "/export?document=endpoints"));
      assert.deepEqual([again.summary.create, again.summary.update, again.summary.delete], [0, 0, 0]);
      const past = applied.body.revision;
      await api.ok("PATCH", `/endpoints/${id}`, { description: "changed" });
      const { revisions } = await api.ok("GET", `/revisions?object_id=${id}`);
      assert.deepEqual(
        revisions.map(({ operation }: Body) => operation),
        ["updateCloudEndpoint", "applyDocument"],
      );
      await api.ok("DELETE", `/endpoints/${id}`);
      await api.ok("POST", `/revisions/${past}/rollback`);
      assert.equal((await api.ok("GET", `/endpoints/${id}`)).description, "");
      const key = (await api.ok("POST", "/api_keys", { scopes: ["metadata:team"] })).token;
      const other = await api.request("POST", "/endpoints", { key, body: cloud("https://team.example.com") });
      refused(other, 403, 245);
      const own = await api.ok("POST", "/endpoints", cloud("https://team.example.com", { metadata: "team" }), key);
      assert.deepEqual(
        (await api.ok("GET", "/endpoints", undefined, key)).endpoints.map((one: Body) => one.id),
        [own.id],
      );
      refused(await api.request("GET", `/endpoints/${id}`, { key }), 403, 245);
    });

    it(`cloud endpoints on ${database.name} are sent to the edge`, async () => {
      api.edge.send({ type: "hello", edgeId: "edge" });
      const { id } = await api.ok("POST", "/endpoints", cloud("https://told.example.com"));
      const told = api.edge.received.flatMap((message) => (message.type === "changes" ? message.changes : []));
      assert.equal(told.find((change) => change.id === id)?.kind, "cloud_endpoint");
    });

    it(`cloud endpoints on ${database.name} refuse URLs and bindings that this server does not have`, async () => {
      for (const url of [
        "http://a.example.com",
        "a.example.com",
        "https://a.example.com/path",
        "tcp://a.example.com",
      ]) {
        refused(await api.request("POST", "/endpoints", { body: cloud(url) }), 400, 823);
      }
      for (const url of ["https://a_b.example.com", "https://a.example.com:0", "https://user@a.example.com"]) {
        refused(await api.request("POST", "/endpoints", { body: cloud(url) }), 400, 823);
      }
      for (const binding of ["kubernetes"]) {
        const body = cloud("https://bound.example.com", { bindings: [binding] });
        const response = await api.request("POST", "/endpoints", { body });
        refused(response, 400, 822);
        assert.match(response.body.details["bindings[0]"], /"public"/);
      }
      const inside = cloud("https://bound.example.com", { bindings: ["internal"] });
      refused(await api.request("POST", "/endpoints", { body: inside }), 400, 9028);
      for (const bindings of [["public"], ["internal", "public"]]) {
        const open = await api.request("POST", "/endpoints", { body: cloud("https://bound.internal", { bindings }) });
        refused(open, 400, 9029);
        assert.match(open.body.details.bindings, /the host ends in "\.internal"/);
      }
      refused(
        await api.request("POST", "/endpoints", { body: cloud("https://x.example.com", { type: "edge" }) }),
        400,
        215,
      );
      const { traffic_policy: _, ...bare } = cloud("https://x.example.com");
      refused(await api.request("POST", "/endpoints", { body: bare }), 400, 215);
    });

    it(`cloud endpoints on ${database.name} have the binding that their host implies, however they are written`, async () => {
      for (const [url, implied] of [
        ["https://implied.internal", "internal"],
        ["https://implied.example.com", "public"],
      ] as const) {
        const made = await api.ok("POST", "/endpoints", cloud(url));
        assert.deepEqual(made.bindings, [implied]);
        const changed = await api.ok("PATCH", `/endpoints/${made.id}`, { bindings: [implied], description: "d" });
        assert.deepEqual(changed.bindings, [implied]);
        const other = { bindings: [implied === "public" ? "internal" : "public"] };
        refused(
          await api.request("PATCH", `/endpoints/${made.id}`, { body: other }),
          400,
          implied === "public" ? 9028 : 9029,
        );
        await api.ok("DELETE", `/endpoints/${made.id}`);
        const objects = { cloud_endpoint: { one: cloud(url) } };
        await api.ok("POST", "/apply", { document: "bound", objects });
        const again = await api.ok("POST", "/plan", { document: "bound", objects });
        assert.deepEqual([again.changes.length, again.changes[0].action], [1, "unchanged"]);
        await api.ok("POST", "/apply", { document: "bound", objects: {} });
      }
    });

    it(`cloud endpoints on ${database.name} may share a URL in any spelling only if each of them is pooled`, async () => {
      for (const [url, traffic_policy] of [
        ["https://pool.example.com", policy],
        ["tcp://postern.test:30009", connect],
        ["tls://pool.internal:443", connect],
      ] as const) {
        const body = (pooling_enabled: boolean) => cloud(url, { traffic_policy, pooling_enabled });
        const alone = await api.ok("POST", "/endpoints", body(false));
        refused(await api.request("POST", "/endpoints", { body: body(true) }), 409, 722);
        await api.ok("PATCH", `/endpoints/${alone.id}`, { pooling_enabled: true });
        const beside = await api.ok("POST", "/endpoints", body(true));
        assert.deepEqual([beside.url, beside.pooling_enabled], [url, true]);
        refused(await api.request("POST", "/endpoints", { body: body(false) }), 409, 722);
        refused(await api.request("PATCH", `/endpoints/${alone.id}`, { body: { pooling_enabled: false } }), 409, 722);
        await api.ok("DELETE", `/endpoints/${alone.id}`);
        await api.ok("PATCH", `/endpoints/${beside.id}`, { pooling_enabled: false });
        refused(await api.request("POST", "/endpoints", { body: body(true) }), 409, 722);
        await api.ok("DELETE", `/endpoints/${beside.id}`);
      }
      const other = { traffic_policy: connect, pooling_enabled: true };
      await api.ok("POST", "/endpoints", cloud("https://both.example.com", { pooling_enabled: true }));
      refused(await api.request("POST", "/endpoints", { body: cloud("tls://both.example.com", other) }), 409, 722);
      const entry = { url: "https://two.example.com", type: "cloud", traffic_policy: policy };
      const document = (one: boolean, two: boolean) => ({
        document: "pools",
        objects: {
          cloud_endpoint: { one: { ...entry, pooling_enabled: one }, two: { ...entry, pooling_enabled: two } },
        },
      });
      refused(await api.request("POST", "/apply", { body: document(true, false) }), 409, 722);
      await api.ok("POST", "/apply", document(true, true));
      refused(await api.request("POST", "/apply", { body: document(false, true) }), 409, 722);
    });

    it(`cloud endpoints on ${database.name} share their URL with an endpoint of an agent only if both are pooled`, async () => {
      api.edge.send({ type: "hello", edgeId: "edge" });
      const account = (await api.ok("GET", "/accounts")).accounts.find(({ name }: Body) => name === "default");
      const tunnelId = newId("tn", Date.now());
      const endpointId = endpointIdOf(tunnelId);
      const tunnel = (publicUrl: string, pooled: boolean) => ({
        type: "tunnel_opened" as const,
        tunnel: {
          id: tunnelId,
          accountId: account.id,
          sessionId: newId("ts", Date.now()),
          credentialId: newId("cr", Date.now()),
          startedAt: "2026-01-01T00:00:00Z",
          metadata: "",
          forwardsTo: "",
          region: "",
          endpoint: { id: endpointId, proto: "https" as const, publicUrl, pooled },
        },
      });
      for (const name of ["shared.example.com", "shared.internal"]) {
        const url = `https://${name}`;
        api.edge.send(tunnel(url, true));
        refused(await api.request("POST", "/endpoints", { body: cloud(url) }), 409, 722);
        const made = await api.ok("POST", "/endpoints", cloud(url, { pooling_enabled: true }));
        refused(await api.request("PATCH", `/endpoints/${made.id}`, { body: { pooling_enabled: false } }), 409, 722);
        await api.ok("DELETE", `/endpoints/${made.id}`);
        const shown = await api.ok("GET", `/endpoints/${endpointId}`);
        assert.deepEqual(
          [shown.pooling_enabled, shown.bindings],
          [true, [name.endsWith("internal") ? "internal" : "public"]],
        );
        api.edge.send(tunnel(url, false));
        refused(await api.request("POST", "/endpoints", { body: cloud(url, { pooling_enabled: true }) }), 409, 722);
        api.edge.send({ type: "tunnel_closed", tunnelId });
      }
    });

    it(`cloud endpoints on ${database.name} may be internal ones of TLS and TCP, whose names are each account's own`, async () => {
      const forward = (url: string) =>
        JSON.stringify({ on_tcp_connect: [{ actions: [{ type: "forward-internal", config: { url } }] }] });
      const { api_key: key } = await api.ok("POST", "/accounts", { name: "neighbour" });
      const urls = ["tls://db.internal:443", "tcp://db.internal:5432", "tls://*.db.internal:8883"];
      for (const url of urls) {
        const body = cloud(url, { traffic_policy: connect });
        const made = await api.ok("POST", "/endpoints", body);
        assert.deepEqual([made.url, made.host], [url, url.replace(/^...:\/\//, "").replace(/:.*/, "")]);
        refused(await api.request("POST", "/endpoints", { body }), 409, 722);
        await api.ok("POST", "/endpoints", body, key);
      }
      const answering = { traffic_policy: forward("tls://db.internal") };
      await api.ok("POST", "/endpoints", cloud("tls://out.example.com", answering));
      for (const url of ["https://db.internal", "tcp://db.internal", "tls://db.example.com"]) {
        const body = cloud("tls://wrong.example.com", { traffic_policy: forward(url) });
        refused(await api.request("POST", "/endpoints", { body }), 400, 2226);
      }
      const uncertain = JSON.stringify({
        on_tcp_connect: [
          { actions: [{ type: "forward-internal", config: { url: "tls://db.internal", on_error: "continue" } }] },
        ],
      });
      const body = cloud("tls://wrong.example.com", { traffic_policy: uncertain });
      refused(await api.request("POST", "/endpoints", { body }), 400, 2235);
      for (const url of ["tcp://a.b.c.d.e.f.internal:1", "https://a.internal:8443"]) {
        const policies = { traffic_policy: url.startsWith("tcp") ? connect : policy };
        refused(await api.request("POST", "/endpoints", { body: cloud(url, policies) }), 400, 215);
      }
    });

    it(`D8: cloud endpoints on ${database.name} refuse policies that could not be read, with the place that is wrong, wherever they are`, async () => {
      const edge = await api.ok("POST", "/edges/https", {});
      const route = { match_type: "path_prefix", match: "/" };
      const { id } = await api.ok("POST", `/edges/https/${edge.id}/routes`, route);
      const action = (type: string, config: object) =>
        JSON.stringify({ on_http_request: [{ actions: [{ type, config }] }] });
      const at = "on_http_request[0].actions[0]";
      const wrong: readonly (readonly [policy: string, code: number, message: string])[] = [
        ["- a", 2236, ""],
        ["a: &x 1\nb: *x", 2236, ""],
        [`{"a":${"[".repeat(100)}${"]".repeat(100)}}`, 2236, ""],
        ["[".repeat(60_000), 2236, ""],
        ["on_request: []", 2230, "on_request"],
        ["on_http_request: 1", 2236, "on_http_request"],
        [
          JSON.stringify({ on_http_request: Array.from({ length: 101 }, () => ({ actions: [] })) }),
          2264,
          "on_http_request",
        ],
        ["on_http_request: [{actions: [], when: 1}]", 2236, "on_http_request[0].when"],
        ["on_http_request: [{expressions: [1], actions: []}]", 2236, "on_http_request[0].expressions[0]"],
        ["on_http_request: [{name: x}]", 2206, "on_http_request[0].actions"],
        [action("teleport", {}), 2201, `${at}.type`],
        [action("owasp-crs-request", {}), 2201, `${at}.type`],
        [action("compress-response", {}), 2202, `${at}.type`],
        [action("deny", { status_code: 200 }), 2215, `${at}.config.status_code`],
        [action("deny", { status: 403 }), 2203, `${at}.config.status`],
        [action("add-headers", { headers: {} }), 2223, `${at}.config.headers`],
        [action("basic-auth", { credentials: ["hans:short"] }), 2257, `${at}.config.credentials[0]`],
        [action("restrict-ips", { enforce: true }), 2223, `${at}.config.allow`],
        [action("restrict-ips", { allow: ["192.0.2.1/24"] }), 2217, `${at}.config.allow[0]`],
        [action("set-vars", { vars: [{ a: "1", b: "2" }] }), 2252, `${at}.config.vars[0]`],
      ];
      for (const [text, code, place] of wrong) {
        const module = await api.request("PUT", `/edges/https/${edge.id}/routes/${id}/traffic_policy`, {
          body: { value: text },
        });
        refused(module, 400, code);
        assert.ok(module.body.details["value"].startsWith(place), module.text);
        assert.ok(!module.text.includes("short"), module.text);
        const endpoint = await api.request("POST", "/endpoints", {
          body: { ...cloud("https://wrong.example.com"), traffic_policy: text },
        });
        refused(endpoint, 400, code);
        assert.ok(endpoint.body.details["traffic_policy"].startsWith(place), endpoint.text);
      }
      const connecting = { traffic_policy: connect };
      for (const [url, code] of [
        // Rules about connections answer no request.
        ["https://wrong.example.com", 2235],
        ["https://wrong.internal", 2262],
      ] as const) {
        refused(await api.request("POST", "/endpoints", { body: { ...cloud(url), ...connecting } }), 400, code);
      }
      const logs = "on_http_request: [{actions: [{type: log, config: {metadata: {a: b}}}]}]";
      const silent = { ...cloud("https://wrong.example.com"), traffic_policy: logs };
      refused(await api.request("POST", "/endpoints", { body: silent }), 400, 2235);
      const tcp = await api.ok("POST", "/edges/tcp", {});
      const layer = await api.request("PUT", `/edges/tcp/${tcp.id}/traffic_policy`, {
        body: { value: action("deny", {}) },
      });
      refused(layer, 400, 2230);
      await api.ok("PUT", `/edges/tcp/${tcp.id}/traffic_policy`, {
        value: "inbound:\n  - actions:\n      - type: restrict-ips\n        config:\n          allow: [192.0.2.0/24]",
      });
      const good = JSON.stringify({
        enabled: true,
        on_http_request: [
          {
            name: "all",
            expressions: ["req.method == 'GET'"],
            actions: [{ type: "custom-response", config: { content: "older name", headers: { "x-a": "1" } } }],
          },
        ],
        outbound: [{ actions: [{ type: "compress-response" }] }],
      });
      const kept = await api.ok("PUT", `/edges/https/${edge.id}/routes/${id}/traffic_policy`, { value: good });
      assert.equal(kept.value, good);
    });

    it(`K4: cloud endpoints on ${database.name} repeat no credential of a policy that is refused`, async () => {
      const policy = {
        on_http_request: [{ actions: [{ type: "basic-auth", config: { credentials: ["hans:s3cr3t!"] } }] }],
      };
      const response = await api.request("POST", "/endpoints", {
        body: { ...cloud("https://secret.example.com"), traffic_policy: JSON.stringify(policy) },
      });
      refused(response, 400, 2257);
      assert.ok(!response.text.includes("s3cr3t"), response.text);
    });
  });
}
