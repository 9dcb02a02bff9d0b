/**
 * Secrets, and values that may contain one, are never shown to a key without access, stored in clear, sent with an
 * event, or logged. A canary is placed in every field that the declarations seal, and then searched everywhere.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { resourceNamed, resources } from "../../src/api/operation/resource-declarations.ts";
import { describedOperations } from "../../src/api/operations.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import type { ExplanationReport } from "../../src/routing/planes/edge-questions.ts";
import { isSealedField } from "../../src/schema/concealment.ts";
import type { Field, Fields } from "../../src/schema/fields.ts";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { edgeAnswers } from "../support/other-calls.ts";
import { databases } from "../support/postgres.ts";
import { startReceiver, subscribe } from "../support/receiver.ts";
import type { Receiver } from "../support/receiver.ts";
import { keepingLog } from "../storage/fixture.ts";
import { dump } from "../storage/sql.ts";

let count = 0;
const planted: string[] = [];

/** A text that is nowhere else. */
function canary(): string {
  count += 1;
  const text = `canary${String(count).padStart(4, "0")}x`;
  planted.push(text);
  return text;
}

/** One action of each kind, with a canary in each free-text field. */
function policy(): string {
  const text = (): string => canary();
  const actions = [
    { type: "add-headers", config: { headers: { authorization: text() } } },
    { type: "basic-auth", config: { credentials: [`${text()}:${text()}`], realm: text() } },
    { type: "log", config: { metadata: { note: text() } } },
    { type: "redirect", config: { from: text(), to: `https://a.example.com/?key=${text()}` } },
    { type: "set-vars", config: { vars: [{ token: text() }] } },
    { type: "restrict-ips", config: { allow: ["192.0.2.0/24"] } },
  ];
  return JSON.stringify({
    on_http_request: [
      { name: "all", expressions: [`req.headers["x-key"][0] == "${canary()}"`], actions },
      { actions: [{ type: "custom-response", config: { body: text(), headers: { "x-token": text() } } }] },
    ],
  });
}

function connectionPolicy(): string {
  return `# ${canary()}\non_tcp_connect:\n  - expressions: ["conn.client_ip == '${canary()}'"]\n    actions:\n      - type: deny\n`;
}

/** Inputs that hold all sealed fields of their kinds between them. */
async function inputs(receiverUrl: string): Promise<readonly (readonly [kind: string, body: Body])[]> {
  const authority = await createAuthority({ commonName: "Canaries", now: Date.now() });
  const leaf = await issueLeaf(authority, { names: ["canary.example.com"], days: 30, now: Date.now() });
  planted.push(leaf.keyPem.split("\n")[1] as string);
  const app = () => ({ client_id: "id", client_secret: canary() });
  const providers = Object.keys((fieldsAt("https_edge_route", "oauth.provider") ?? {}) as Fields);
  const routes = providers.map((name) => ({ oauth: { provider: { [name]: app() } } }));
  const auth = () => ({ creds: { aws_access_key_id: "AKIA", aws_secret_access_key: canary() } });
  const arn = (service: string, rest: string): string => `arn:aws:${service}:eu-west-1:123456789012:${rest}`;
  const url = (): string => `https://localhost:1/${canary()}?key=${canary()}`;
  const target = (name: string, value: Body): readonly [string, Body] => [
    "event_destination",
    { target: { [name]: value } },
  ];
  return [
    ...routes.map((body): readonly [string, Body] => ["https_edge_route", body]),
    [
      "https_edge_route",
      {
        request_headers: { add: { authorization: `Bearer ${canary()}` } },
        response_headers: { add: { "x-internal": canary() } },
        webhook_verification: { provider: "github", secret: canary() },
        traffic_policy: { value: policy() },
      },
    ],
    ["https_edge_route", { oidc: { issuer: "https://idp.example.com", client_id: "id", client_secret: canary() } }],
    ["tls_edge", { traffic_policy: { value: connectionPolicy() } }],
    ["tcp_edge", { traffic_policy: { value: connectionPolicy() } }],
    ["cloud_endpoint", { type: "cloud", url: "https://cloud.example.com", traffic_policy: policy() }],
    ["http_response_backend", { body: canary(), headers: { "set-cookie": `session=${canary()}` } }],
    ["tls_certificate", { certificate_pem: leaf.certificatePem, private_key_pem: leaf.keyPem }],
    ["secret", { name: "s", value: canary() }],
    target("webhook", { url: `${receiverUrl}/${canary()}`, secret: `${canary()}-at-least-16` }),
    target("webhook", { url: url(), secret: `${canary()}-at-least-16` }),
    target("firehose", {
      auth: auth(),
      delivery_stream_arn: arn("firehose", "deliverystream/events"),
      endpoint: url(),
    }),
    target("kinesis", { auth: auth(), stream_arn: arn("kinesis", "stream/events"), endpoint: url() }),
    target("cloudwatch_logs", { auth: auth(), log_group_arn: arn("logs", "log-group:events"), endpoint: url() }),
    target("datadog", { api_key: canary(), endpoint: url() }),
    target("azure_logs_ingestion", {
      tenant_id: "t",
      client_id: "c",
      client_secret: canary(),
      logs_ingestion_uri: url(),
      authority_host: url(),
      data_collection_rule_id: "r",
      data_collection_stream_name: "s",
    }),
  ];
}

for (const database of databases) {
  describe(`canaries on ${database.name}`, () => {
    let api: TestApi;
    let receiver: Receiver;
    let directory: string;
    let blind: string;
    let place: Awaited<ReturnType<typeof database.create>>;
    const { log, lines } = keepingLog();
    const made: { readonly kind: string; readonly path: string; readonly id: string; readonly body: Body }[] = [];
    const none = (text: string, where: string): void => {
      for (const one of planted) assert.ok(!text.includes(one), `${where} has ${one}: ${text.slice(0, 2000)}`);
    };

    before(async () => {
      receiver = await startReceiver();
      directory = mkdtempSync(join(tmpdir(), "postern-canaries-"));
      place = await database.create();
      api = await startApi(database, {
        databaseUrl: place.url,
        data: directory,
        allowLocalUpstreams: true,
        eventsCa: receiver.ca,
        log,
      });
      const account = (await api.ok("GET", "/accounts")).accounts.at(-1).id;
      api.edge.answer = edgeAnswers(() => account);
      api.edge.send({ type: "hello", edgeId: "edge" });
      blind = (await api.ok("POST", "/api_keys", { scopes: ["read", "write"] })).token;
      const all = resources.filter(({ live, internal, operatorOnly }) => !live && !internal && !operatorOnly);
      const types = all.flatMap(({ name, unrecorded }) =>
        (unrecorded ? ["deleted"] : ["created", "updated", "deleted"]).map((verb) => `${name}_${verb}.v0`),
      );
      for (const path of [canary(), canary()]) {
        await subscribe(api, { webhook: { url: `${receiver.url}/${path}` } }, types);
      }
      // Nothing listens there, so the failure is reported too.
      await subscribe(api, { webhook: { url: `https://localhost:1/${canary()}` } }, types);
      const edge = await api.ok("POST", "/edges/https", {});
      const vault = await api.ok("POST", "/vaults", { name: "v" });
      for (const [kind, body] of await inputs(receiver.url)) {
        const more: Body = kind === "secret" ? { vault_id: vault.id } : {};
        if (kind === "https_edge_route") Object.assign(more, { match_type: "path_prefix", match: `/${made.length}` });
        const path = resourceNamed(kind).path.replace("{edge_id}", edge.id);
        const { id } = await api.ok("POST", path, { ...body, ...more });
        made.push({ kind, path, id, body });
      }
    });
    after(async () => {
      await api.stop();
      await receiver.stop();
      await place.drop();
      rmSync(directory, { recursive: true });
    });

    it(`K4: canaries on ${database.name} are in every field that is sealed`, () => {
      const wanted = resources
        .filter(({ live, internal }) => !live && !internal)
        .flatMap(({ name, fields }) => sealedPaths(fields, `${name}.`));
      const found = new Set(made.flatMap(({ kind, body }) => wanted.filter((path) => isPlanted(path, kind, body))));
      assert.deepEqual(
        wanted.filter((path) => !found.has(path)),
        [],
      );
      // A field that is named in the control but missing in a declaration would not be noticed above.
      for (const path of [
        "https_edge_route.traffic_policy.value",
        "https_edge_route.request_headers.add",
        "https_edge_route.response_headers.add",
        "tls_edge.traffic_policy.value",
        "cloud_endpoint.traffic_policy",
        "http_response_backend.headers",
        "http_response_backend.body",
        "event_destination.target.webhook.url",
      ]) {
        assert.ok(wanted.includes(path), path);
      }
    });

    it(`K4: canaries on ${database.name} are shown by no read to a key without the scope, now and at every revision, and all to one with it`, async () => {
      const last = Number((await api.request("GET", "/ip_policies")).headers["postern-revision"]);
      const seen = new Set<string>();
      const paths = describedOperations().flatMap(({ method, path, open }) => {
        if (method !== "GET" || open) return [];
        const [collection, rest] = path.split("{id}");
        if (rest === undefined) return path.includes("{") ? [] : [path];
        const own = made.filter((one) => collection === `${resourceNamed(one.kind).path}/`);
        return own.map((one) => `${one.path}/${one.id}${rest}`);
      });
      assert.ok(paths.length > 60);
      for (const path of paths) {
        const { text } = await api.request("GET", path, { key: blind });
        none(text, path);
        const full = (await api.request("GET", path)).text;
        for (const one of planted) if (full.includes(one)) seen.add(one);
      }
      const asked = describedOperations().flatMap(({ path, query }) =>
        query?.includes("at_revision") && !path.includes("{") ? [path] : [],
      );
      for (const path of [...asked, ...made.map((one) => `${one.path}/${one.id}`)]) {
        for (let revision = 1; revision <= last; revision += path.includes("_") ? 7 : 3) {
          none((await api.request("GET", `${path}?at_revision=${revision}`, { key: blind })).text, path);
        }
        none((await api.request("GET", `${path}?at_revision=${last}`, { key: blind })).text, path);
      }
      for (let revision = 1; revision <= last; revision += 1) {
        none((await api.request("GET", `/revisions/${revision}`, { key: blind })).text, `/revisions/${revision}`);
      }
      none((await api.request("GET", "/revisions", { key: blind })).text, "/revisions");
      none(
        (await api.request("POST", `/revisions/2/rollback?dry_run=true`, { key: blind, body: {} })).text,
        "rollback",
      );
      const yaml = await fetch(`${api.baseUrl}/export`, {
        headers: { authorization: `Bearer ${blind}`, "service-version": "2", accept: "application/yaml" },
      });
      none(await yaml.text(), "/export as YAML");
      // Only the scope differs.
      assert.ok(seen.size > 40, `${seen.size} of ${planted.length}`);
    });

    it(`K4: canaries on ${database.name} are in no problem shown to a key without the scope`, async () => {
      const accountId = (await api.ok("GET", "/accounts")).accounts.at(-1).id;
      const route = made.find(({ body }) => body.traffic_policy && body.request_headers);
      const backend = made.find(({ kind }) => kind === "http_response_backend");
      const tls = made.find(({ kind }) => kind === "tls_edge");
      const problems = [
        [route, "traffic_policy"],
        [route, "request_headers"],
        [backend, undefined],
        [tls, "traffic_policy"],
      ] as const;
      const told = problems.map(([one, module]) => {
        const { kind = "", id = "" } = one ?? {};
        return { kind, id, accountId, module, message: `compile the policy: "${planted[0]}" is no expression` };
      });
      const open = { kind: "https_edge_route", id: route?.id ?? "", accountId, module: "compression" };
      api.edge.send({ type: "problems", problems: [...told, { ...open, message: "compression is not known here" }] });
      const full = await api.request("GET", "/problems");
      assert.equal(full.body.problems.length, problems.length + 1);
      assert.ok(full.text.includes(planted[0] ?? ""));
      const shown = await api.request("GET", "/problems", { key: blind });
      none(shown.text, "/problems");
      assert.deepEqual(
        shown.body.problems.map(({ module, message }: Body) => [module, /scope "secrets"/.test(message)]),
        [...problems.map(([, module]) => [module ?? null, true]), ["compression", false]],
      );
      const gone = [...told, open].map((one) => ({ ...one, message: undefined }));
      api.edge.send({ type: "problems", problems: gone });
    });

    it(`K4: canaries on ${database.name} cannot be found by a filter with a key without the scope`, async () => {
      for (const [path, field] of [
        ["/backends/http_response", "body"],
        ["/backends/http_response", "headers['set-cookie']"],
        ["/edges/tls", "traffic_policy.value"],
        ["/edges/https", "routes[0].traffic_policy.value"],
        ["/endpoints", "traffic_policy"],
      ] as const) {
        const filter = encodeURIComponent(`obj.${field}.contains('canary')`);
        const told = await api.request("GET", `${path}?filter=${filter}`, { key: blind });
        assert.deepEqual([told.status, told.body.error_code], [400, errorCode("filter_invalid")], told.text);
      }
      const own = encodeURIComponent("obj.body.contains('canary')");
      assert.equal((await api.ok("GET", `/backends/http_response?filter=${own}`)).backends.length, 1);
    });

    it(`K4: masked canaries on ${database.name} keep the structure around them`, async () => {
      const route = made.find(({ body }) => body.traffic_policy && body.request_headers);
      const path = `${route?.path}/${route?.id}`;
      const { body } = await api.request("GET", path, { key: blind });
      assert.deepEqual(body.request_headers.add, { authorization: "***" });
      const shown = JSON.parse(body.traffic_policy.value);
      const [rule] = shown.on_http_request;
      assert.deepEqual([rule.name, rule.expressions], ["all", ["***"]]);
      assert.deepEqual(rule.actions[0], { type: "add-headers", config: { headers: { authorization: "***" } } });
      assert.deepEqual(rule.actions.at(-1), { type: "restrict-ips", config: { allow: ["192.0.2.0/24"] } });
      const edge = made.find(({ kind }) => kind === "tls_edge");
      const tls = await api.request("GET", `/edges/tls/${edge?.id}`, { key: blind });
      assert.match(tls.body.traffic_policy.value, /^on_tcp_connect:\n {2}- expressions:\n {6}- "\*\*\*"/);
    });

    it(`K4: canaries on ${database.name} stay unchanged when their masked form is sent back`, async () => {
      const document = (await api.request("GET", "/export", { key: blind })).body;
      const before = (await api.request("GET", "/export")).text;
      for (const key of [blind, api.apiKey]) {
        const applied = await api.request("POST", "/apply", { key, body: { ...document, document: "main" } });
        assert.equal(applied.status, 200, applied.text);
      }
      for (const { kind, path, id, body } of made) {
        const shown = (await api.request("GET", `${path}/${id}`, { key: blind })).body;
        for (const name of ["traffic_policy", "request_headers", "response_headers", "headers", "body"]) {
          if (!(name in body)) continue;
          const sent = await api.request("PATCH", `${path}/${id}`, { key: blind, body: { [name]: shown[name] } });
          assert.equal(sent.status, 200, `${kind} ${name}: ${sent.text}`);
        }
      }
      const names = (text: string) => JSON.parse(text).objects;
      const now = (await api.request("GET", "/export")).text;
      for (const one of planted) assert.equal(now.includes(one), before.includes(one), one);
      assert.deepEqual(Object.keys(names(now)), Object.keys(names(before)));
    });

    it(`K4: canaries on ${database.name} are not replaced by their masked form, changed or in another place`, async () => {
      const route = made.find(({ body }) => body.traffic_policy && body.request_headers);
      const path = `${route?.path}/${route?.id}`;
      const { body } = await api.request("GET", path, { key: blind });
      const shown = body.traffic_policy.value as string;
      for (const [change, at] of [
        [{ traffic_policy: { value: shown.replace('"all"', '"other"') } }, "traffic_policy.value"],
        [{ request_headers: { add: { "x-other": "***" } } }, "request_headers.add.x-other"],
        [{ webhook_verification: { provider: "github", secret: "***" } }, "webhook_verification.secret"],
        [{ oidc: { issuer: "https://evil.example", client_id: "id", client_secret: "***" } }, "oidc.client_secret"],
      ] as const) {
        const refused = await api.request("PATCH", path, { key: blind, body: change });
        assert.equal(refused.status, 400, refused.text);
        assert.match(refused.body.details[at], /must be the real value/);
      }
      const created = await api.request("POST", "/backends/http_response", { key: blind, body: { body: "***" } });
      assert.equal(created.status, 400, created.text);
    });

    it(`K4: canaries on ${database.name} that a key without the scope leaves unchanged are sent to no new destination`, async () => {
      const target = (endpoint: string, api_key: unknown) => ({ target: { datadog: { api_key, endpoint } } });
      const document = (body: Body) => ({ document: "sent", objects: { event_destination: { logs: body } } });
      await api.ok("POST", "/apply", document(target("https://localhost:1/a", canary())));
      const stays = { $unchanged: true };
      for (const key of [blind, api.apiKey]) {
        const moved = { key, body: document(target("https://localhost:1/evil", stays)) };
        const answer = await api.request("POST", "/plan", moved);
        assert.equal(answer.status, key === blind ? 400 : 200, answer.text);
        if (key === blind) assert.match(answer.text, /target\.datadog\.api_key.*cannot stay unchanged while/);
        const kept = { key, body: document(target("https://localhost:1/a", stays)) };
        assert.equal((await api.request("POST", "/apply", kept)).status, 200);
      }
    });

    it(`K4: canaries on ${database.name} are confirmed by no plan to a key without the scope`, async () => {
      const { id } = await api.ok("POST", "/edges/https", { metadata: "planned" });
      const right = {
        webhook_verification: { provider: "github", secret: "the right one" },
        request_headers: { add: { "x-key": "the right one" } },
        traffic_policy: {
          value:
            '{"on_http_request":[{"expressions":["req.method == \'the right one\'"],"actions":[{"type":"deny"}]}]}',
        },
      };
      const document = (fields: Body) => ({
        document: "guesses",
        objects: {
          https_edge_route: { one: { edge_id: id, match_type: "path_prefix", match: "/planned", ...fields } },
          http_response_backend: { fixed: { body: fields.request_headers.add["x-key"] } },
        },
      });
      await api.ok("POST", "/apply", document(right));
      const wrong = JSON.parse(JSON.stringify(right).replaceAll("the right one", "the wrong one"));
      const plan = async (fields: Body, key: string) => {
        const answer = await api.request("POST", "/plan", { key, body: document(fields) });
        assert.equal(answer.status, 200, answer.text);
        // The hash depends on the document that the key sends, and on changes as a key without the scope sees them.
        const { hash, ...shown } = answer.body;
        return { shown, isHash: /^[0-9a-f]{32}$/.test(hash), etag: answer.headers["etag"], summary: shown.summary };
      };
      assert.deepEqual(await plan(right, blind), await plan(wrong, blind));
      assert.equal((await plan(right, api.apiKey)).summary.update, 0);
      assert.equal((await plan(wrong, api.apiKey)).summary.update, 2);
      assert.equal((await plan(right, blind)).summary.update, 2);
      const unchanged = { ...right, webhook_verification: { provider: "github", secret: { $unchanged: true } } };
      const sent = await api.request("POST", "/plan", { key: blind, body: document(unchanged) });
      const { fields } = sent.body.changes.find(({ kind }: Body) => kind === "https_edge_route");
      assert.deepEqual(
        fields.map(({ path }: Body) => path),
        ["traffic_policy.value", "request_headers.add"],
      );
    });

    it(`K4: canaries on ${database.name} are in no dry run of a request, whatever the caller describes`, async () => {
      const route = made.find(({ body }) => body.traffic_policy && body.request_headers);
      const edge = route?.path.split("/")[3];
      const plain = await api.ok("POST", route?.path ?? "", {
        match_type: "exact_path",
        match: "/explained",
        request_headers: { add: { authorization: "Bearer guess" } },
      });
      const [added, fixed] = [canary(), canary()];
      const explain = async (routeId: string, value: string) => {
        api.edge.answer = (message) => {
          if (message.type !== "question" || message.question.name !== "explain_request") return undefined;
          const given = message.question.request.headers;
          const explanation = {
            ...explanationOf(edge ?? "", routeId),
            requestHeaders: [...given.filter(([name]) => name !== "authorization"), ["authorization", value] as const],
            response: { status: 200, headers: [["x-internal", fixed] as const] },
          };
          return { type: "answer", call: message.call, answer: { name: "explanation", explanation } };
        };
        const headers = { authorization: "Bearer guess", "x-mine": "shown" };
        return await api.request("POST", `/edges/https/${edge}/explain`, {
          key: blind,
          body: { host: "a.example.com", headers },
        });
      };
      const right = await explain(plain.id, "Bearer guess");
      const wrong = await explain(plain.id, `Bearer ${added}`);
      assert.equal(right.text, wrong.text);
      none(wrong.text, "an explanation");
      const values = Object.fromEntries(
        wrong.body.request_headers.map(({ name, value }: Body): [string, string] => [name, value]),
      );
      assert.deepEqual(values, { "x-mine": "shown", authorization: "***" });
      // Values made by a policy cannot be distinguished from received ones.
      assert.ok(!(await explain(route?.id ?? "", "Bearer guess")).text.includes("guess"));
    });

    it(`K4: canaries on ${database.name} are not in an answer that is given again to another key than it was given to`, async () => {
      const value = canary();
      const objects = { http_response_backend: { replayed: { body: value } } };
      const apply = (key: string) =>
        api.request("POST", "/apply", { key, body: { objects }, headers: { "idempotency-key": "canary" } });
      assert.ok((await apply(api.apiKey)).text.includes(value));
      assert.equal((await apply(blind)).status, 422);
    });

    it(`K4: canaries on ${database.name} are not in the ETag, against which guesses could be tried`, async () => {
      const body = {
        type: "cloud",
        url: "https://tagged.example.com",
        traffic_policy: "on_http_request: [{actions: [{type: deny}]}]",
      };
      const { id } = await api.ok("POST", "/endpoints", body);
      const patched = async (secret: string) => {
        const value = `on_http_request:\n  - expressions: ["req.method != '${secret}'"]\n    actions: [{type: deny}]\n  - actions: [{type: deny}]`;
        const { headers, body } = await api.request("PATCH", `/endpoints/${id}`, { body: { traffic_policy: value } });
        return { tag: headers["etag"]?.replace(/^"\d+\./, ""), second: body.updated_at };
      };
      let [one, other] = [await patched("one"), await patched("two")];
      // The time of the write is part of the tag's input.
      while (one.second !== other.second) [one, other] = [await patched("one"), await patched("two")];
      assert.equal(one.tag, other.tag);
    });

    it(`K4: canaries on ${database.name} are in no event for any receiver, and in no log`, async () => {
      for (const { path, id } of made) await api.ok("PATCH", `${path}/${id}`, { description: "changed" });
      for (const { path, id } of made) await api.ok("DELETE", `${path}/${id}`);
      await receiver.count(6 * made.length);
      for (const { text } of receiver.received) none(text, "an event");
      assert.ok(lines.some(({ event }) => event === "event not delivered"));
      const seen = new WeakSet<object>();
      for (const line of lines) none(written(line, seen), "the log");
      const destinations = await api.request("GET", "/event_destinations", { key: blind });
      none(destinations.text, "/event_destinations");
    });

    it(`K4: canaries on ${database.name} lie in the database sealed, in present rows and in the history`, async () => {
      none(await dump(database.name, place.url), "the database");
    });
  });
}

function explanationOf(edgeId: string, routeId: string): ExplanationReport {
  return {
    revision: 1,
    edge: { kind: "https_edge", id: edgeId, revision: 1 },
    route: { id: routeId, revision: 1 },
    near: [],
    steps: [],
    outcome: "forwarded",
    status: undefined,
    errorCode: undefined,
    backend: undefined,
    tunnel: undefined,
    address: undefined,
    requestHeaders: [],
    response: undefined,
  };
}

/** A line of the log with the messages, causes and stacks of its errors. */
function written(value: unknown, seen: WeakSet<object>): string {
  if (typeof value !== "object" || value === null) return String(value);
  if (seen.has(value)) return "";
  seen.add(value);
  const own = Object.getOwnPropertyNames(value).map((name) => written((value as Body)[name], seen));
  return own.join(" ");
}

function fieldsAt(kind: string, path: string): Fields | undefined {
  let fields: Fields | undefined = resourceNamed(kind).fields;
  for (const name of path.split(".")) {
    const field: Field | undefined = fields?.[name];
    fields = field?.type === "object" ? field.fields : undefined;
  }
  return fields;
}

/** Paths of the sealed fields that somebody can set. */
function sealedPaths(fields: Fields, at: string): string[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    if (field.live || field.internal || field.readOnly) return [];
    if (field.type === "object") return sealedPaths(field.fields, `${at}${name}.`);
    const inner = field.type === "list" || field.type === "map" ? field.of : field;
    return isSealedField(inner) ? [at + name] : [];
  });
}

function isPlanted(path: string, kind: string, body: Body): boolean {
  const [own, ...names] = path.split(".");
  if (own !== kind) return false;
  const value = names.reduce<Body>((inner, name) => inner?.[name], body);
  const text = JSON.stringify(value ?? "").replaceAll("\\n", "\n");
  return planted.some((one) => text.includes(one));
}
