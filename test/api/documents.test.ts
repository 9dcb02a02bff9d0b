import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { parse } from "yaml";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { modules } from "../../src/modules/index.ts";
import { resources } from "../../src/resources/index.ts";
import { emptyDoc } from "../../src/schema/doc.ts";
import type { ResourceDeclaration } from "../../src/schema/resource.ts";
import { openStore } from "../../src/storage/opening/open-store.ts";
import type { StoreOptions } from "../../src/storage/opening/open-store.ts";
import type { StoredObject, WriteContext } from "../../src/storage/store.ts";
import { send, startApi } from "../support/api.ts";
import type { ApiResponse, Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

const template = `
document: shop
objects:
  ip_policy:
    office:
      description: The office
  ip_policy_rule:
    office-v4:
      ip_policy_id: office
      cidr: 192.0.2.0/24
      action: allow
  tunnel_group_backend:
    web:
      labels: { app: web }
  weighted_backend:
    canary:
      backends: { web: 9, next: 1 }
  static_backend:
    next:
      address: next.example.com:443
      tls: { enabled: true }
  https_edge:
    shop:
      hostports: ["HOST:443"]
  https_edge_route:
    shop-root:
      edge_id: shop
      match_type: path_prefix
      match: /
      backend: { backend_id: canary }
      ip_restriction: { ip_policy_ids: [office] }
      compression: {}
      webhook_verification: { provider: github, secret: s3cret-hook }
`;

for (const database of databases) {
  describe(`documents of many objects on ${database.name}`, () => {
    let api: TestApi;
    before(async () => {
      api = await startApi(database);
    });
    const others: TestApi[] = [];
    after(async () => {
      // Releases the resources of a test that fails half-way.
      for (const other of others) await other.plane.stop();
      await api.stop();
    });
    const startOther = async (databaseUrl: string): Promise<TestApi> => {
      const bootstrap = { apiKey: api.apiKey, authtoken: api.authtoken };
      const other = await startApi(database, { databaseUrl, bootstrap });
      others.push(other);
      return other;
    };

    let count = 0;
    /** The document with a different host for the last account. */
    let shop = "";
    /** The key of a new account. */
    const account = async (): Promise<string> => {
      count += 1;
      shop = template.replace("HOST", `shop-${count}.example.com`);
      return (await api.ok("POST", "/accounts", { name: `account ${count}` })).api_key;
    };
    const sendYaml = (path: string, text: string, key: string, headers: Record<string, string> = {}) =>
      api.request("POST", path, { body: text, key, headers: { "content-type": "application/yaml", ...headers } });
    const plan = (text: string, key: string) => sendYaml("/plan", text, key);
    const apply = (text: string, key: string) => sendYaml("/apply", text, key);
    const done = async (answer: Promise<ApiResponse>): Promise<Body> => {
      const { status, body, text } = await answer;
      assert.equal(status, 200, text);
      return body;
    };
    const fails = (response: ApiResponse, status: number, number: number, path?: string): void => {
      assert.deepEqual([response.status, response.body.error_code], [status, `ERR_POSTERN_${number}`], response.text);
      if (path !== undefined) assert.ok(path in response.body.details, response.text);
    };
    const revisionOf = async (key: string): Promise<number> =>
      Number((await api.request("GET", "/bot_users", { key })).headers["postern-revision"]);

    it(`documents of many objects on ${database.name} are planned without changing anything, and applied as one revision`, async () => {
      const key = await account();
      const before = await revisionOf(key);
      const planned = await done(plan(shop, key));
      assert.equal(planned.applied, false);
      assert.deepEqual(planned.summary, { create: 8, update: 0, delete: 0, unchanged: 0 });
      assert.equal(await revisionOf(key), before);
      const route = planned.changes.find(({ name }: Body) => name === "shop-root");
      assert.deepEqual([route.action, route.id, route.uri], ["create", "", ""]);
      const field = (path: string): Body => route.fields.find((one: Body) => one.path === path);
      assert.deepEqual(field("edge_id"), { path: "edge_id", before: null, after: "shop" });
      assert.equal(field("backend").after.backend_id, "canary");
      assert.equal(field("webhook_verification").after.secret, "***");
      const reserved = planned.changes.find(({ kind }: Body) => kind === "reserved_domain");
      assert.deepEqual([reserved.name, reserved.action], [null, "create"]);

      const applied = await done(apply(shop, key));
      assert.deepEqual([applied.applied, applied.revision], [true, before + 1]);
      assert.deepEqual(applied.summary, planned.summary);
      assert.ok(!JSON.stringify(applied).includes("s3cret"));
      const { https_edges } = await api.ok("GET", "/edges/https", undefined, key);
      const [made] = https_edges[0].routes;
      assert.equal(made.webhook_verification.secret, "s3cret-hook");
      const { backends } = await api.ok("GET", "/backends/weighted", undefined, key);
      assert.equal(made.backend.backend.id, backends[0].id);
      assert.equal(Object.keys(backends[0].backends).length, 2);

      const again = await done(apply(shop, key));
      assert.deepEqual(again.summary, { create: 0, update: 0, delete: 0, unchanged: 7 });
      assert.equal(again.revision, before + 1);
    });

    it(`documents of many objects on ${database.name} change the objects that they made, whatever else happened to those`, async () => {
      const key = await account();
      await done(apply("objects: {bot_user: {ci: {name: CI}, cd: {name: CD}}}", key));
      const { bot_users } = await api.ok("GET", "/bot_users", undefined, key);
      const ci = bot_users.find(({ name }: Body) => name === "CI");
      await api.ok("PATCH", `/bot_users/${ci.id}`, { name: "renamed", active: false }, key);
      const changed = await done(apply("objects: {bot_user: {ci: {name: Integration}}}", key));
      assert.deepEqual(changed.changes, [
        {
          action: "update",
          kind: "bot_user",
          name: "ci",
          id: ci.id,
          uri: ci.uri,
          adopted: false,
          fields: [
            { path: "name", before: "renamed", after: "Integration" },
            { path: "active", before: false, after: true },
          ],
        },
      ]);
    });

    it(`documents of many objects on ${database.name} exchange names among objects in one step`, async () => {
      const key = await account();
      const document = (left: string, right: string): string =>
        `objects: {https_edge: {blue: {hostports: ["${left}.${count}.example.com:443"]}, green: {hostports: ["${right}.${count}.example.com:443"]}}}`;
      await done(apply(document("live", "next"), key));
      const swapped = await done(apply(document("next", "live"), key));
      assert.deepEqual(swapped.summary, { create: 0, update: 2, delete: 0, unchanged: 0 });
    });

    it(`documents of many objects on ${database.name} prune only their own objects, and only on request`, async () => {
      const key = await account();
      const both = "document: a\nobjects: {bot_user: {one: {name: one}, two: {name: two}}}";
      const one = "document: a\nobjects: {bot_user: {one: {name: one}}}";
      await done(apply(both, key));
      await done(apply("document: b\nobjects: {bot_user: {three: {name: three}}}", key));
      await api.ok("POST", "/bot_users", { name: "by hand" }, key);
      assert.deepEqual((await done(apply(one, key))).summary, { create: 0, update: 0, delete: 0, unchanged: 1 });
      const planned = await done(plan(`${one}\nprune: true`, key));
      assert.deepEqual(planned.summary, { create: 0, update: 0, delete: 1, unchanged: 1 });
      await done(apply(`${one}\nprune: true`, key));
      const { bot_users } = await api.ok("GET", "/bot_users", undefined, key);
      assert.deepEqual(bot_users.map(({ name }: Body) => name).sort(), ["by hand", "one", "three"]);
      await done(apply("document: a\nprune: true\nobjects: {}", key));
      assert.equal((await api.ok("GET", "/bot_users", undefined, key)).bot_users.length, 2);
    });

    it(`documents of many objects on ${database.name} replace an object by one with another name, including references to it`, async () => {
      const key = await account();
      const document = (name: string, action: string): string => `
prune: true
objects:
  ip_policy: { office: {} }
  ip_policy_rule: { ${name}: { ip_policy_id: office, cidr: 192.0.2.0/24, action: ${action} } }
`;
      await done(apply(document("rule", "allow"), key));
      fails(await apply(document("rule", "deny"), key), 400, 215, "objects.ip_policy_rule.rule.action");
      const replaced = await done(apply(document("denial", "deny"), key));
      assert.deepEqual(replaced.summary, { create: 1, update: 0, delete: 1, unchanged: 1 });
    });

    it(`documents of many objects on ${database.name} refer to outside objects by id, and to objects of other documents by name`, async () => {
      const key = await account();
      const policy = await api.ok("POST", "/ip_policies", {}, key);
      await done(apply("document: base\nobjects: {ip_policy: {shared: {}}}", key));
      const rule = (policy: string): string => `{ip_policy_id: ${policy}, cidr: 192.0.2.0/24, action: allow}`;
      const text = `objects: {ip_policy_rule: {one: ${rule(policy.id)}, two: ${rule("base/shared")}}}`;
      assert.equal((await done(apply(text, key))).summary.create, 2);
      assert.equal((await done(plan(text, key))).summary.unchanged, 2);
    });

    it(`documents of many objects on ${database.name} are refused as a whole when one object is wrong, with every field that is, and change nothing`, async () => {
      const key = await account();
      const before = await revisionOf(key);
      for (const path of ["/plan", "/apply"]) {
        const bad = await sendYaml(
          path,
          `objects:
  ip_policy: { good: {} }
  ip_policy_rule: { bad: { ip_policy_id: good, cidr: nonsense, action: maybe } }
  bot_user: { nameless: {}, typo: { name: x, actve: true } }
`,
          key,
        );
        fails(bad, 400, 214);
        for (const field of ["ip_policy_rule.bad.cidr", "ip_policy_rule.bad.action", "bot_user.nameless.name"]) {
          assert.ok(`objects.${field}` in bad.body.details, field);
        }
        const absent = "objects: {ip_policy_rule: {r: {ip_policy_id: nowhere, cidr: 192.0.2.0/24, action: allow}}}";
        fails(await sendYaml(path, absent, key), 404, 7007, "objects.ip_policy_rule.r.ip_policy_id");
        const twice = "objects: {bot_user: {a: {name: same}, b: {name: same}}}";
        fails(await sendYaml(path, twice, key), 409, 4112);
        const circle = "objects: {failover_backend: {a: {backends: [b]}, b: {backends: [a]}}}";
        fails(await sendYaml(path, circle, key), 400, 6513, "objects.failover_backend.a.backends");
      }
      assert.equal(await revisionOf(key), before);
      assert.deepEqual((await api.ok("GET", "/ip_policies", undefined, key)).ip_policies, []);
    });

    it(`documents of many objects on ${database.name} are refused when their form is wrong`, async () => {
      const key = await account();
      for (const [text, path] of [
        ["{}", "objects"],
        ["objects: []", "objects"],
        ["objects: {}\nobject: {}", "object"],
        ["objects: {}\nprune: maybe", "prune"],
        ["objects: {}\ndocument: a/b", "document"],
        ["objects: {nothing: {}}", "objects.nothing"],
        ["objects: {api_key: {a: {}}}", "objects.api_key"],
        ["objects: {account: {a: {name: a}}}", "objects.account"],
        ["objects: {tunnel: {a: {}}}", "objects.tunnel"],
        ["objects: {ip_policy: []}", "objects.ip_policy"],
        ["objects: {ip_policy: {a: 1}}", "objects.ip_policy.a"],
        ["objects: {ip_policy: {a b: {}}}", "objects.ip_policy.a b"],
        ["objects: {ip_policy: {a: {}}, vault: {a: {name: a}}}", "objects.vault.a"],
        ["objects: {ip_policy: {a: {id: x}}}", "objects.ip_policy.a.id"],
      ] as const) {
        const response = await plan(text, key);
        assert.equal(response.status, 400, text);
        assert.ok(path in response.body.details, `${text}: ${response.text}`);
      }
      fails(await plan("objects: {a: 1, a: 2}", key), 400, 213);
      fails(await plan("- 1", key), 400, 213);
      const headers = { "content-type": "text/plain" };
      fails(await api.request("POST", "/plan", { body: shop, key, headers }), 415, 210);
      fails(await plan(`# ${"x".repeat(1_048_576)}`, key), 413, 212);
    });

    it(`documents of many objects on ${database.name} can be JSON`, async () => {
      const key = await account();
      const body = parse(shop) as Body;
      const { summary } = await api.ok("POST", "/apply", body, key);
      assert.equal(summary.create, 8);
      assert.equal((await done(plan(shop, key))).summary.unchanged, 7);
    });

    it(`K4: documents of many objects on ${database.name} preserve secrets that they omit, and exports contain none`, async () => {
      const key = await account();
      await done(apply(shop, key));
      const exported = await api.request("GET", "/export?document=shop", { key });
      assert.ok(!exported.text.includes("s3cret"));
      const route = exported.body.objects.https_edge_route["shop-root"];
      assert.deepEqual(route.webhook_verification.secret, { $unchanged: true });
      route.description = "changed";
      await api.ok("POST", "/apply", exported.body, key);
      const { https_edges } = await api.ok("GET", "/edges/https", undefined, key);
      assert.equal(https_edges[0].routes[0].webhook_verification.secret, "s3cret-hook");
      assert.equal(https_edges[0].routes[0].description, "changed");
      const fresh = await api.request("POST", "/plan", { body: exported.body, key: await account() });
      fails(fresh, 400, 215, "objects.https_edge_route.shop-root.webhook_verification.secret");
      for (const path of ["/plan", "/apply"]) {
        route.webhook_verification.secret = 5;
        const wrong = await api.request("POST", path, { body: exported.body, key });
        assert.equal(wrong.status, 400);
        route.webhook_verification.secret = "s3cret-new";
        assert.ok(!(await api.request("POST", path, { body: exported.body, key })).text.includes("s3cret"));
      }
    });

    it(`K4: documents of many objects on ${database.name} are exported without any secret, or with all that the key may read`, async () => {
      const key = await account();
      const edge = await api.ok("POST", "/edges/https", {}, key);
      const policy = (config: object): string =>
        JSON.stringify({ on_http_request: [{ actions: [{ type: "basic-auth", config }] }] });
      const plain = policy({ credentials: ["${secrets.get('web', 'login')}"] });
      const secret = policy({ credentials: ["anna:s3cret-password"] });
      const sent = JSON.stringify({
        on_http_request: [
          { actions: [{ type: "add-headers", config: { headers: { authorization: "s3cret-sent" } } }] },
        ],
      });
      for (const [match, value] of Object.entries({ "/plain": plain, "/secret": secret, "/sent": sent })) {
        const body = {
          match_type: "path_prefix",
          match,
          traffic_policy: { value },
          request_headers: { add: { authorization: "Bearer s3cret-header", "x-ip": "${conn.client_ip}" } },
          webhook_verification: { provider: "github", secret: "s3cret-hook" },
        };
        await api.ok("POST", `/edges/https/${edge.id}/routes`, body, key);
      }
      const { text, body: exported } = await api.request("GET", "/export", { key });
      assert.ok(!text.includes("s3cret"), text);
      const routes = Object.values<Body>(exported.objects.https_edge_route);
      assert.deepEqual(
        routes.map(({ traffic_policy }) => traffic_policy.value === plain),
        [true, false, false],
      );
      assert.deepEqual(routes[0].request_headers.add, { authorization: "***", "x-ip": "${conn.client_ip}" });
      const whole = await api.request("GET", "/export?secrets=true", { key });
      for (const one of ["s3cret-password", "s3cret-header", "s3cret-hook", "s3cret-sent"]) {
        assert.ok(whole.text.includes(one), one);
      }
      for (const document of [exported, whole.body]) {
        const planned = await api.ok("POST", "/plan", document, key);
        assert.deepEqual([planned.summary.update, planned.summary.create], [0, 0]);
      }
      const blind = (await api.ok("POST", "/api_keys", { scopes: ["read"] }, key)).token;
      const refused = await api.request("GET", "/export?secrets=true", { key: blind });
      assert.deepEqual([refused.status, refused.body.details.scope], [403, "secrets"]);
    });

    it(`documents of many objects on ${database.name} are exported with the names that they gave, as JSON and as YAML`, async () => {
      const key = await account();
      await done(apply(shop, key));
      const { objects, document } = await api.ok("GET", "/export?document=shop", undefined, key);
      assert.equal(document, "shop");
      const wanted = parse(shop).objects as Body;
      wanted.https_edge_route["shop-root"].webhook_verification.secret = { $unchanged: true };
      assert.deepEqual(objects, wanted);
      const headers = { authorization: `Bearer ${key}`, "service-version": "2", accept: "application/yaml" };
      const yaml = await send(api.baseUrl, "GET", "/export?document=shop", undefined, headers);
      assert.equal(yaml.headers["content-type"], "application/yaml");
      assert.deepEqual(parse(yaml.text), { document, objects });
      const whole = await api.ok("GET", "/export", undefined, key);
      assert.ok("shop/web" in whole.objects.tunnel_group_backend);
      assert.deepEqual(whole.objects.https_edge_route["shop/shop-root"].edge_id, "shop/shop");
    });

    it(`documents of many objects on ${database.name} adopt exported objects, so that they can be pruned later`, async () => {
      const key = await account();
      const made = await api.ok("POST", "/bot_users", { name: "by hand" }, key);
      const exported = await api.ok("GET", "/export", undefined, key);
      assert.deepEqual(exported.objects, { bot_user: { "bot-user-by-hand": { id: made.id, name: "by hand" } } });
      const planned = await api.ok("POST", "/plan", exported, key);
      assert.deepEqual(
        planned.changes.map(({ action, adopted }: Body) => [action, adopted]),
        [["unchanged", true]],
      );
      await api.ok("POST", "/apply", exported, key);
      const again = await api.ok(
        "POST",
        "/apply",
        { objects: { bot_user: { "bot-user-by-hand": { name: "new" } } } },
        key,
      );
      assert.equal(again.changes[0].id, made.id);
      const stolen = { document: "other", objects: { bot_user: { mine: { id: made.id, name: "x" } } } };
      fails(await api.request("POST", "/plan", { body: stolen, key }), 400, 215, "objects.bot_user.mine.id");
      const pruned = await api.ok("POST", "/apply", { prune: true, objects: {} }, key);
      assert.equal(pruned.summary.delete, 1);
    });

    it(`P1: documents of many objects on ${database.name} neither show nor change another account's objects`, async () => {
      const [mine, theirs] = [await account(), await account()];
      await done(apply(shop, theirs));
      const policy = (await api.ok("GET", "/ip_policies", undefined, theirs)).ip_policies[0];
      assert.deepEqual((await api.ok("GET", "/export", undefined, mine)).objects, {});
      const rule = (id: string): string =>
        `objects: {ip_policy_rule: {r: {ip_policy_id: ${id}, cidr: 192.0.2.0/24, action: allow}}}`;
      fails(await apply(rule(policy.id), mine), 404, 7007);
      fails(await apply(rule("shop/office"), mine), 404, 7007);
      fails(await apply(`objects: {ip_policy: {p: {id: ${policy.id}}}}`, mine), 400, 215);
      const held = await apply(shop, mine);
      fails(held, 409, 413);
      assert.ok(!held.text.includes("edghts_") && !held.text.includes("rd_"));
      const pruned = await done(apply("document: shop\nprune: true\nobjects: {}", mine));
      assert.equal(pruned.summary.delete, 0);
      assert.equal((await api.ok("GET", "/edges/https", undefined, theirs)).https_edges.length, 1);
    });

    it(`P6: documents of many objects on ${database.name} are one write in the log, and continue the hash chain`, async () => {
      const key = await account();
      const headers = { "postern-reason": "release 5" };
      const { revision } = await done(sendYaml("/apply", shop, key, headers));
      const entry = await api.ok("GET", `/revisions/${revision}`, undefined, key);
      assert.deepEqual([entry.operation, entry.reason, entry.changes.length], ["applyDocument", "release 5", 8]);
      assert.ok(!JSON.stringify(entry).includes("s3cret"));
      const back = await api.request("POST", `/revisions/${revision - 1}/rollback`, { key });
      assert.equal(back.body.summary.delete, 8);
      assert.equal((await done(apply(shop, key))).summary.create, 8);
      const again = await api.request("POST", `/revisions/${revision}/rollback`, { key });
      assert.equal(again.status, 200, again.text);
      assert.deepEqual((await done(plan(shop, key))).summary, { create: 0, update: 0, delete: 0, unchanged: 7 });
    });

    it(`P6: documents of many objects on ${database.name} leave a chain of hashes that holds, after applies, refusals, prunes and rollbacks`, async () => {
      const place = await database.create();
      const own = await startOther(place.url);
      const body = parse(template.replace("HOST", "chain.example.com")) as Body;
      const { revision } = await own.ok("POST", "/apply", body);
      fails(await own.request("POST", "/apply", { body: { objects: { bot_user: { x: {} } } } }), 400, 215);
      await own.ok("POST", "/apply", { document: "shop", prune: true, objects: {} });
      await own.ok("POST", `/revisions/${revision}/rollback`);
      const { changes } = await own.ok("POST", "/plan", body);
      assert.ok(changes.every(({ action }: Body) => action === "unchanged"));
      await own.plane.stop();
      const store = await openStore(storeOptions(place.url, own));
      assert.deepEqual(await store.history.verify(), { revisions: store.revision });
      assert.equal(store.revision, revision + 2);
      await store.close();
      await place.drop();
    });

    it(`documents of many objects on ${database.name} leave a certificate alone that the server has obtained under a domain's policy`, async () => {
      const place = await database.create();
      const policy = { authority: "letsencrypt", private_key_type: "ecdsa" };
      const fields = { domain: "own.example.com", certificate_management_policy: policy };
      const body = { objects: { reserved_domain: { own: fields } } };
      const first = await startOther(place.url);
      const { revision } = await first.ok("POST", "/apply", body);
      await first.plane.stop();
      const store = await openStore(storeOptions(place.url, first));
      const account = store.accounts()[0]?.id as string;
      const { result } = await store.write(systemContext(account), (draft) => {
        const domain = draft.holder(account, "domain", "own.example.com") as StoredObject;
        const { fields } = resources.find(({ name }) => name === "tls_certificate") as ResourceDeclaration;
        const doc = {
          ...emptyDoc(fields),
          issued_at: "2026-01-01T00:00:00Z",
          certificate_pem: "x",
          private_key_pem: "y",
        };
        const certificate = draft.create(account, "tls_certificate", doc);
        return draft.replace(domain, { ...domain.doc, certificate_id: certificate.id });
      });
      await store.close();

      const again = await startOther(place.url);
      const path = `/reserved_domains/${result.id}`;
      const before = await again.ok("GET", path);
      assert.match(before.certificate.id, /^cert_/);
      assert.equal((await again.ok("POST", "/plan", body)).summary.unchanged, 1);
      const exported = await again.ok("GET", "/export");
      const bare = { domain: "own.example.com", certificate_management_policy: {} };
      assert.deepEqual(exported.objects, { reserved_domain: { own: bare } });
      const described = { objects: { reserved_domain: { own: { ...fields, description: "new" } } } };
      await again.ok("POST", "/apply", described);
      assert.deepEqual(await again.ok("GET", path), { ...before, description: "new" });
      await again.ok("POST", `/revisions/${revision}/rollback`);
      assert.deepEqual(await again.ok("GET", path), before);
      const without = { objects: { reserved_domain: { own: { domain: "own.example.com" } } } };
      await again.ok("POST", "/apply", without);
      assert.equal((await again.ok("GET", path)).certificate, null);
      await again.plane.stop();
      await place.drop();
    });

    it(`P7: documents of many objects on ${database.name} happen once per Idempotency-Key`, async () => {
      const key = await account();
      const headers = { "idempotency-key": "apply-1" };
      const first = await done(sendYaml("/apply", shop, key, headers));
      assert.deepEqual(await done(sendYaml("/apply", shop, key, headers)), first);
      fails(await sendYaml("/apply", "objects: {}", key, headers), 422, 236);
    });

    it(`documents of many objects on ${database.name} give SAML modules their identity, and leave it to them`, async () => {
      const key = await account();
      const text = `
objects:
  https_edge: { e: {} }
  https_edge_route:
    r:
      edge_id: e
      match_type: path_prefix
      match: /
      saml: { idp_metadata: '<EntityDescriptor entityID="x"></EntityDescriptor>' }
`;
      await done(plan(text, key));
      await done(apply(text, key));
      const saml = async (): Promise<Body> =>
        (await api.ok("GET", "/edges/https", undefined, key)).https_edges[0].routes[0].saml;
      const before = await saml();
      assert.match(before.request_signing_certificate_pem, /BEGIN CERTIFICATE/);
      assert.ok(
        before.entity_id.includes((await api.ok("GET", "/edges/https", undefined, key)).https_edges[0].routes[0].id),
      );
      await done(apply(text.replace("saml: { ", "saml: { force_authn: true, "), key));
      assert.deepEqual(await saml(), { ...before, force_authn: true });
    });

    it(`documents of many objects on ${database.name} need a key and the version`, async () => {
      for (const [method, path] of [
        ["POST", "/plan"],
        ["POST", "/apply"],
        ["GET", "/export"],
      ] as const) {
        assert.equal((await api.request(method, path, { headers: { authorization: undefined } })).status, 401);
        assert.equal((await api.request(method, path, { headers: { "service-version": "9" } })).status, 400);
      }
    });
  });
}

function storeOptions(url: string, { sealingKey }: TestApi): StoreOptions {
  const declarations = { resources, modules };
  return { database: url, dataDirectory: "/", declarations, sealingKey, clock: systemClock, log: silentLog };
}

function systemContext(accountId: string): WriteContext {
  return { principal: { accountId, id: "system" }, operation: "obtainCertificate", operationId: "op_test" };
}
