import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { text as readText } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { Agent, request } from "../../src/lib/http.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { send, startApi } from "../support/api.ts";
import type { ApiResponse, TestApi } from "../support/api.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Log, LogFields } from "../../src/lib/log.ts";
import { newToken, tokenPrefixes } from "../../src/lib/tokens.ts";
import { makeManualClock } from "../support/clock.ts";
import { databases } from "../support/postgres.ts";
import { sendUntilClosed, uploadRefused } from "../support/refused-upload.ts";
import { skipWithout } from "../support/programs.ts";

const sqlite = databases[0] as (typeof databases)[number];

describe("the protocol of the API", () => {
  let api: TestApi;
  before(async () => {
    api = await startApi(sqlite);
  });
  after(() => api.stop());

  const bare = (method: string, path: string, headers: Record<string, string>, body?: unknown) =>
    send(api.baseUrl, method, path, body, headers);
  const fails = (response: ApiResponse, status: number, number: number): void => {
    assert.equal(response.status, status, response.text);
    assert.equal(response.body.error_code, `ERR_POSTERN_${number}`);
    assert.equal(response.body.status_code, status);
    assert.equal(response.headers["content-type"], "application/json");
    assert.match(response.body.details.operation_id, /^op_[0-9a-z]{27}$/);
    assert.equal(response.headers["postern-operation-id"], response.body.details.operation_id);
    assert.equal(response.headers["ngrok-operation-id"], response.body.details.operation_id);
  };

  it("the protocol of the API accepts either version header and names the supported versions if there is none or another", async () => {
    const authorization = `Bearer ${api.apiKey}`;
    assert.equal((await bare("GET", "/bot_users", { authorization, "service-version": "2" })).status, 200);
    assert.equal((await bare("GET", "/bot_users", { authorization, "ngrok-version": "2" })).status, 200);
    const missing = await bare("GET", "/bot_users", { authorization });
    fails(missing, 400, 218);
    assert.match(missing.body.msg, /supported: 2/);
    fails(await bare("GET", "/bot_users", { authorization, "service-version": "3" }), 400, 217);
    fails(await bare("GET", "/bot_users", { authorization, "service-version": "2", "ngrok-version": "1" }), 400, 217);
  });

  it("the protocol of the API answers 401 with WWW-Authenticate and never repeats a credential", async () => {
    const version = { "service-version": "2" };
    const missing = await bare("GET", "/bot_users", version);
    fails(missing, 401, 200);
    assert.equal(missing.headers["www-authenticate"], "Bearer");
    const sent = api.apiKey.slice(0, -1) + (api.apiKey.endsWith("x") ? "y" : "x");
    for (const authorization of [
      `Bearer ${sent}`,
      `Bearer ${api.authtoken}`,
      `Basic ${sent}`,
      "Bearer",
      "Bearer a b",
    ]) {
      const response = await bare("GET", "/bot_users", { ...version, authorization });
      assert.equal(response.status, 401);
      assert.ok(!response.text.includes(sent) && !response.text.includes(api.authtoken));
    }
    const agents = await bare("GET", "/bot_users", { ...version, authorization: `Bearer ${api.authtoken}` });
    fails(agents, 401, 206);
    assert.equal((await bare("GET", "/bot_users", { ...version, authorization: `bearer ${api.apiKey}` })).status, 200);
  });

  it("K5: a key stops working when it is deleted, and while its owner is inactive", async () => {
    const bot = await api.ok("POST", "/bot_users", { name: "owner" });
    const { id, token } = await api.ok("POST", "/api_keys", { owner_id: bot.id });
    await api.ok("GET", "/bot_users", undefined, token);
    await api.ok("PATCH", `/bot_users/${bot.id}`, { active: false });
    fails(await api.request("GET", "/bot_users", { key: token }), 401, 203);
    await api.ok("PATCH", `/bot_users/${bot.id}`, { active: true });
    await api.ok("GET", "/bot_users", undefined, token);
    assert.equal((await api.request("DELETE", `/api_keys/${id}`)).status, 204);
    fails(await api.request("GET", "/bot_users", { key: token }), 401, 203);
  });

  it("K5: a key is checked again on each request of a connection", async () => {
    const bot = await api.ok("POST", "/bot_users", { name: "stays connected" });
    const { id, token } = await api.ok("POST", "/api_keys", { owner_id: bot.id, scopes: ["read"] });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const connections = new Set<number | undefined>();
    agent.on("free", (socket: Socket) => connections.add(socket.localPort));
    const ask = (method: string, path: string, key: string, body?: unknown) =>
      send(
        api.baseUrl,
        method,
        path,
        body,
        { authorization: `Bearer ${key}`, "service-version": "2", "content-type": "application/json" },
        agent,
      );
    try {
      assert.equal((await ask("GET", "/bot_users", token)).status, 200);
      fails(await ask("GET", "/bot_users", `${token.slice(0, -1)}${token.endsWith("x") ? "y" : "x"}`), 401, 203);
      assert.equal((await ask("POST", "/bot_users", api.apiKey, { name: "by the other key" })).status, 201);
      assert.equal((await ask("POST", "/bot_users", token, { name: "by none" })).status, 403);
      await ask("PATCH", `/bot_users/${bot.id}`, api.apiKey, { active: false });
      fails(await ask("GET", "/bot_users", token), 401, 203);
      await ask("PATCH", `/bot_users/${bot.id}`, api.apiKey, { active: true });
      assert.equal((await ask("GET", "/bot_users", token)).status, 200);
      await api.request("DELETE", `/api_keys/${id}`);
      fails(await ask("GET", "/bot_users", token), 401, 203);
      assert.equal(connections.size, 1);
    } finally {
      agent.destroy();
    }
  });

  it("K5: wrong keys of any make are limited per address, and right ones are not", async () => {
    const limited = await startApi(sqlite, { limits: { wrongKeysPerMinute: 4 } });
    try {
      const answers: string[] = [];
      for (const key of ["x", limited.authtoken, newToken(tokenPrefixes.apiKey), `${limited.apiKey}0`, "x", "y"]) {
        answers.push((await limited.request("GET", "/bot_users", { key })).body.error_code);
      }
      assert.deepEqual(
        answers.map((code) => code.slice(-3)),
        ["203", "206", "203", "203", "226", "226"],
      );
      assert.equal((await limited.request("GET", "/bot_users")).status, 200);
    } finally {
      await limited.stop();
    }
  });

  it("K5: a key stops working when it expires, and creates none that lives longer", async () => {
    const clock = makeManualClock();
    const timed = await startApi(sqlite, { clock });
    const after = (seconds: number) => `${new Date(clock.now() + seconds * 1000).toISOString().slice(0, 19)}Z`;
    try {
      const { id, token, expires_at } = await timed.ok("POST", "/api_keys", { expires_at: after(60) });
      assert.equal(expires_at, after(60));
      for (const path of ["/api_keys", "/credentials"]) {
        for (const later of [null, after(3600)]) {
          const refused = await timed.request("POST", path, { key: token, body: { expires_at: later } });
          assert.deepEqual([refused.status, "expires_at" in refused.body.details], [400, true], refused.text);
        }
        assert.equal((await timed.request("POST", path, { key: token, body: { expires_at: after(30) } })).status, 201);
        assert.equal((await timed.request("POST", path, { body: { expires_at: after(-1) } })).status, 400);
      }
      const longer = { body: { expires_at: after(3600) } };
      assert.equal((await timed.request("PATCH", `/api_keys/${id}`, longer)).status, 400);
      clock.pass(61_000);
      fails(await timed.request("GET", "/bot_users", { key: token }), 401, 203);
    } finally {
      await timed.stop();
    }
  });

  it("K5: a key shows when it was last used, and never its secret", async () => {
    const { id, token, last_used_at } = await api.ok("POST", "/api_keys", {});
    assert.equal(last_used_at, null);
    await api.ok("GET", "/bot_users", undefined, token);
    const read = await api.request("GET", `/api_keys/${id}`);
    assert.match(read.body.last_used_at, /^\d{4}-.*Z$/);
    assert.ok(!read.text.includes(token) && !read.text.includes(token.split("_")[2] as string));
  });

  it("the protocol of the API answers unknown paths and methods with JSON, and 405 lists the allowed methods", async () => {
    fails(await api.request("GET", "/nothing"), 404, 223);
    fails(await api.request("GET", "//bot_users"), 404, 223);
    fails(await api.request("GET", "/bot_users/%ff"), 404, 223);
    fails(await api.request("GET", "/bot_users/bot_nothing"), 404, 222);
    const wrong = await api.request("PUT", "/bot_users");
    fails(wrong, 405, 224);
    assert.equal(wrong.headers["allow"], "POST, GET, HEAD, OPTIONS");
    assert.equal((await api.request("OPTIONS", "/bot_users")).headers["allow"], wrong.headers["allow"]);
    assert.equal((await api.request("GET", "/bot_users/")).status, 200);
  });

  it("the protocol of the API answers HEAD as GET without the body", async () => {
    const whole = await api.request("GET", "/ip_policies");
    const head = await api.request("HEAD", "/ip_policies");
    assert.deepEqual([head.status, head.text], [200, ""]);
    assert.equal(head.headers["content-length"], whole.headers["content-length"]);
  });

  it("P3: the protocol of the API accepts bodies only as application/json, and denies CORS", async () => {
    const body = { name: "typed" };
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", undefined]) {
      fails(await api.request("POST", "/bot_users", { body, headers: { "content-type": type } }), 415, 210);
    }
    const headers = { "content-type": "Application/JSON; charset=UTF-8", origin: "https://evil.example" };
    const response = await api.request("POST", "/bot_users", { body, headers });
    assert.equal(response.status, 201);
    assert.equal(response.headers["access-control-allow-origin"], undefined);
  });

  it("P2: the protocol of the API refuses bodies over 1 MiB, whether they say so or not", async () => {
    const body = { name: "x".repeat(1_048_577) };
    fails(await api.request("POST", "/bot_users", { body }), 413, 212);
    const chunked = { "transfer-encoding": "chunked", "content-length": undefined };
    fails(await api.request("POST", "/bot_users", { body, headers: chunked }), 413, 212);
  });

  it("P2: the protocol of the API refuses a body that is declared too long before any of it arrives", async () => {
    const head = `POST /bot_users HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${api.apiKey}\r\nservice-version: 2\r\n`;
    const answer = await raw(api, `${head}content-type: application/json\r\ncontent-length: 1048577\r\n\r\n`);
    assert.match(answer, /^HTTP\/1\.1 413 /);
    assert.match(answer, /\r\nconnection: close\r\n/i);
  });

  it(
    "the protocol of the API reads an upload that it refuses: 20 of 20 of 9 MB see the answer",
    { skip: skipWithout("curl") },
    async () => {
      const url = `${api.baseUrl}/bot_users`;
      const base = ["-H", "Service-Version: 2", "-H", "Content-Type: application/json", "-o", "/dev/null"];
      const keyed = [...base, "-H", `Authorization: Bearer ${api.apiKey}`];
      const ways = { 413: [keyed, [...keyed, "-H", "Transfer-Encoding: chunked"]], 401: [base] };
      for (const [status, all] of Object.entries(ways)) {
        for (const options of all) {
          const seen = await uploadRefused(20, { url, byteCount: 9_000_000, options });
          assert.deepEqual(seen, Array<string>(20).fill(` ${status} 0`));
        }
      }
    },
  );

  it("P2: the protocol of the API disconnects a client that continues to send a refused body for 64 MiB", async () => {
    const { port } = new URL(api.baseUrl);
    const socket = connect({ host: "127.0.0.1", port: Number(port), allowHalfOpen: true });
    socket.on("error", () => {});
    socket.write("POST /bot_users HTTP/1.1\r\nhost: a\r\ncontent-length: 999999999\r\n\r\n");
    socket.resume();
    await once(socket, "end");
    const sent = await sendUntilClosed(socket);
    assert.ok(sent > 64 && sent < 128, `${sent} MiB`);
  });

  it("the protocol of the API requests a long body only when it will be read", async () => {
    const answer = await raw(
      api,
      `POST /bot_users HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 9\r\nconnection: close\r\n\r\n`,
    );
    assert.match(answer, /^HTTP\/1\.1 401 /);
    assert.doesNotMatch(answer, /100 Continue/i);
  });

  it("the protocol of the API refuses unexpected bodies, and ignores a content type without one", async () => {
    const { id } = await api.ok("POST", "/ip_policies", {});
    fails(await api.request("DELETE", `/ip_policies/${id}`, { body: { a: 1 } }), 400, 211);
    const headers = { "content-type": "application/json" };
    assert.equal((await api.request("DELETE", `/ip_policies/${id}`, { headers })).status, 204);
  });

  it("the protocol of the API refuses unknown, repeated and malformed query parameters", async () => {
    fails(await api.request("GET", "/bot_users?limits=1"), 400, 231);
    fails(await api.request("GET", "/bot_users?limit=1&limit=2"), 400, 230);
    fails(await api.request("GET", "/bot_users?before_id=%00"), 400, 230);
    for (const limit of ["0", "101", "-1", "1.5", "abc", ""]) {
      fails(await api.request("GET", `/bot_users?limit=${limit}`), 400, 233);
    }
    const { id } = await api.ok("POST", "/ip_policies", {});
    fails(await api.request("GET", `/ip_policies/${id}?limit=1`), 400, 231);
  });

  it("P7: If-Match allows a change only to the version that the caller has read", async () => {
    const created = await api.request("POST", "/ip_policies", { body: { description: "1" } });
    const path = `/ip_policies/${created.body.id}`;
    const etag = created.headers["etag"] as string;
    assert.equal((await api.request("GET", path)).headers["etag"], etag);
    const changed = await api.request("PATCH", path, { body: { description: "2" }, headers: { "if-match": etag } });
    assert.equal(changed.status, 200);
    assert.notEqual(changed.headers["etag"], etag);
    const stale = await api.request("PATCH", path, { body: { description: "3" }, headers: { "if-match": etag } });
    fails(stale, 412, 235);
    fails(await api.request("DELETE", path, { headers: { "if-match": `W/${changed.headers["etag"]}` } }), 412, 235);
    assert.equal((await api.ok("GET", path)).description, "2");
    const tags = `"0", ${changed.headers["etag"]}`;
    assert.equal((await api.request("DELETE", path, { headers: { "if-match": tags } })).status, 204);
  });

  it("the protocol of the API answers 304 without a body to a client with the current version", async () => {
    const { id } = await api.ok("POST", "/edges/https", {});
    await api.ok("PUT", `/edges/https/${id}/tls_termination`, { min_version: "1.3" });
    for (const path of [`/edges/https/${id}`, `/edges/https/${id}/tls_termination`]) {
      const etag = (await api.request("GET", path)).headers["etag"] as string;
      for (const held of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const same = await api.request("GET", path, { headers: { "if-none-match": held } });
        assert.deepEqual([same.status, same.text, same.headers["etag"]], [304, "", etag], held);
      }
      assert.equal((await api.request("HEAD", path, { headers: { "if-none-match": etag } })).status, 304);
      assert.equal((await api.request("GET", path, { headers: { "if-none-match": '"other"' } })).status, 200);
      await api.ok("PATCH", `/edges/https/${id}`, { description: path });
      assert.equal((await api.request("GET", path, { headers: { "if-none-match": etag } })).status, 200);
    }
    const missing = await api.request("GET", `/edges/https/${id}x`, { headers: { "if-none-match": "*" } });
    assert.equal(missing.status, 404);
    const tried = await api.request("PATCH", `/edges/https/${id}`, { body: {}, headers: { "if-none-match": "*" } });
    assert.equal(tried.status, 200);
  });

  it("the protocol of the API sends its description and its reference compressed, and not again to who has them", async () => {
    for (const path of ["/openapi.json", "/docs"]) {
      const plain = await api.request("GET", path, { headers: { "accept-encoding": "identity" } });
      const zipped = await fetch(`${api.baseUrl}${path}`, { headers: { "accept-encoding": "gzip" } });
      assert.deepEqual(
        [zipped.headers.get("content-encoding"), zipped.headers.get("vary")],
        ["gzip", "accept-encoding"],
      );
      assert.ok(Number(zipped.headers.get("content-length")) < plain.text.length / 5);
      assert.equal(await zipped.text(), plain.text);
      const refused = await api.request("GET", path, { headers: { "accept-encoding": "br, gzip;q=0" } });
      assert.equal(refused.headers["content-encoding"], undefined);
      const tags = [plain.headers["etag"] as string, zipped.headers.get("etag") as string];
      assert.notEqual(tags[0], tags[1]);
      for (const [index, coding] of ["identity", "gzip"].entries()) {
        const headers = { "accept-encoding": coding, "if-none-match": tags[index] as string };
        const same = await api.request("GET", path, { headers });
        assert.deepEqual([same.status, same.text], [304, ""]);
      }
    }
  });

  it("the protocol of the API names the field whose value somebody else has, and the present ETag", async () => {
    await api.ok("POST", "/vaults", { name: "held" });
    const edge = await api.ok("POST", "/edges/https", { hostports: ["held.example.com:443"] });
    await api.ok("POST", `/edges/https/${edge.id}/routes`, { match_type: "path_prefix", match: "/" });
    for (const [path, body, field] of [
      ["/vaults", { name: "held" }, "name"],
      ["/edges/https", { hostports: ["free.example.com:443", "held.example.com:443"] }, "hostports[1]"],
      ["/reserved_domains", { domain: "held.example.com" }, "domain"],
      [`/edges/https/${edge.id}/routes`, { match_type: "path_prefix", match: "/" }, "match"],
    ] as const) {
      const refused = await api.request("POST", path, { body });
      assert.equal(refused.status, 409, refused.text);
      assert.ok(refused.body.details[field], refused.text);
    }
    const stale = await api.request("PATCH", `/edges/https/${edge.id}`, { body: {}, headers: { "if-match": '"0"' } });
    const etag = (await api.request("GET", `/edges/https/${edge.id}`)).headers["etag"];
    assert.deepEqual([stale.status, stale.headers["etag"], stale.body.details.etag], [412, etag, etag]);
  });

  it("the protocol of the API changes an edge's ETag with its routes and modules", async () => {
    const edge = await api.request("POST", "/edges/https", { body: {} });
    const path = `/edges/https/${edge.body.id}`;
    const route = await api.ok("POST", `${path}/routes`, { match_type: "path_prefix", match: "/" });
    const after = (await api.request("GET", path)).headers["etag"];
    assert.notEqual(after, edge.headers["etag"]);
    await api.request("DELETE", `${path}/routes/${route.id}`);
    assert.notEqual((await api.request("GET", path)).headers["etag"], after);
  });

  it("P7: an Idempotency-Key makes a POST happen once, and belongs to one request", async () => {
    const headers = { "idempotency-key": "once-1" };
    const first = await api.request("POST", "/api_keys", { body: { description: "a" }, headers });
    const second = await api.request("POST", "/api_keys", { body: { description: "a" }, headers });
    assert.deepEqual([second.status, second.body], [201, first.body]);
    fails(await api.request("POST", "/api_keys", { body: { description: "b" }, headers }), 422, 236);
    fails(await api.request("POST", "/api_keys", { body: {}, headers: { "idempotency-key": "a b" } }), 400, 241);
  });

  it("the protocol of the API numbers every write and returns the number", async () => {
    const one = await api.request("POST", "/ip_policies", { body: {} });
    const two = await api.request("POST", "/ip_policies", { body: {} });
    assert.equal(Number(two.headers["postern-revision"]), Number(one.headers["postern-revision"]) + 1);
    const read = await api.request("GET", "/ip_policies");
    assert.equal(read.headers["postern-revision"], two.headers["postern-revision"]);
  });

  it("P5: malformed HTTP is answered with the same shape, without internals", async () => {
    const answer = await raw(api, "GET / HTTP/1.1\r\nhost: a\r\nbroken\r\n\r\n");
    assert.match(answer, /^HTTP\/1\.1 400 /);
    const body = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n"))) as { error_code: string };
    assert.equal(body.error_code, errorCode("bad_request"));
    assert.match(await raw(api, `GET / HTTP/1.1\r\nhost: a\r\nx: ${"y".repeat(20_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /);
  });

  it("P5: an internal failure is answered with its id and nothing of its cause, which is in the log", async () => {
    const logged: LogFields[] = [];
    const log: Log = { ...silentLog, error: (_event, fields = {}) => void logged.push(fields) };
    const broken = await startApi(sqlite, { log });
    try {
      broken.edge.answer = (message) =>
        message.type === "question"
          ? ({ type: "answer", call: message.call, answer: { name: "requests", requests: [null] } } as never)
          : undefined;
      broken.edge.send({ type: "hello", edgeId: "edge" });
      const response = await broken.request("GET", "/requests");
      fails(response, 500, 239);
      const cause = logged.find((fields) => fields["operation_id"] === response.body.details.operation_id)?.["error"];
      assert.ok(cause instanceof Error && cause.message.length > 0);
      assert.deepEqual(Object.keys(response.body.details), ["operation_id"]);
      for (const inside of [cause.message, cause.name, "src/", "/home", ".ts", "    at "]) {
        assert.ok(!response.text.includes(inside), inside);
      }
    } finally {
      await broken.stop();
    }
  });

  it("the protocol of the API builds URIs from the requested authority, also behind a proxy", async () => {
    const headers = { "x-forwarded-proto": "https", "x-forwarded-host": "api.example.com" };
    const { uri } = (await api.request("GET", "/bot_users", { headers })).body;
    assert.equal(uri, "https://api.example.com/bot_users");
    const odd = await api.request("GET", "/bot_users", { headers: { "x-forwarded-host": 'evil"host' } });
    assert.equal(odd.body.uri, `${api.baseUrl}/bot_users`);
  });

  it("the protocol of the API serves health and metrics on this machine without a key, and metrics to no other address", async () => {
    assert.equal((await bare("GET", "/healthz", {})).status, 200);
    assert.equal((await bare("GET", "/readyz", {})).status, 503);
    api.edge.send({ type: "hello", edgeId: "edge" });
    api.edge.send({ type: "applied", revision: 1 });
    assert.equal((await bare("GET", "/readyz", {})).status, 200);
    api.edge.answer = (message) =>
      message.type === "metrics_request" ? { type: "metrics", call: message.call, text: "edge_metric 1\n" } : undefined;
    const metrics = await bare("GET", "/metrics", {});
    assert.match(metrics.text, /postern_api_responses_total\{status="2xx"\} [1-9]/);
    assert.match(metrics.text, /^edge_metric 1$/m);
    assert.equal((await bare("GET", "/metrics", { "x-forwarded-for": "192.0.2.1" })).status, 403);
    assert.equal((await bare("GET", "/metrics", { host: "rebound.example" })).status, 403);
  });
});

describe("readiness", () => {
  const startAsked = async (): Promise<{ readonly api: TestApi; ask(of?: string): Promise<string> }> => {
    const api = await startApi(sqlite);
    const ask = async (query = ""): Promise<string> => {
      const { status, text } = await send(api.baseUrl, "GET", `/readyz${query}`, undefined, {});
      return `${status} ${text}`;
    };
    return { api, ask };
  };
  const metric = async (api: TestApi, name: string): Promise<string | undefined> =>
    new RegExp(`^${name} (\\d)$`, "m").exec((await send(api.baseUrl, "GET", "/metrics", undefined, {})).text)?.[1];

  it("readiness is about traffic: an edge that has a configuration, and is not draining", async () => {
    const { api, ask } = await startAsked();
    assert.equal(await ask(), "503 no edge has a configuration yet\n");
    api.edge.send({ type: "hello", edgeId: "one" });
    assert.match(await ask(), /^503 /);
    api.edge.send({ type: "applied", revision: 1 });
    assert.equal(await ask(), "200 ready\n");
    assert.equal(await ask("?of=traffic"), "200 ready\n");
    assert.equal(await ask("?of=all"), "200 ready\n");
    api.edge.send({ type: "hello", edgeId: "one" });
    assert.equal(await ask(), "200 ready\n", "an edge that asks for a snapshot serves what it has");
    api.edge.send({ type: "draining" });
    assert.equal(await ask(), "503 the server is stopping\n");
    assert.equal(await ask("?of=writes"), "200 ready\n");
    assert.equal(await ask("?of=all"), "503 the server is stopping\n");
    api.edge.send({ type: "hello", edgeId: "two" });
    assert.equal(await ask(), "503 no edge has a configuration yet\n");
    api.edge.send({ type: "applied", revision: 1 });
    assert.equal(await ask(), "200 ready\n");
    await api.stop();
  });

  it("S5: the management API closes each connection with its next response once an edge drains, and accepts more connections", async () => {
    const { api } = await startAsked();
    api.edge.send({ type: "hello", edgeId: "one" });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const headers = { authorization: `Bearer ${api.apiKey}`, "service-version": "2" };
    const connectionOf = async (path: string): Promise<unknown> => {
      const sent = request(`${api.baseUrl}${path}`, { agent, headers }).end();
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      await once(response.resume(), "end");
      return response.headers.connection;
    };
    const paths = ["/ip_policies", "/docs", "/console/", "/healthz", "/nowhere"];
    for (const path of paths) assert.equal(await connectionOf(path), "keep-alive", path);
    api.edge.send({ type: "draining" });
    for (const path of paths) assert.equal(await connectionOf(path), "close", path);
    agent.destroy();
    await api.stop();
  });

  it("S5: the management API answers requests in flight when it stops, and closes their connections and the idle ones", async () => {
    const { api } = await startAsked();
    api.edge.send({ type: "hello", edgeId: "one" });
    const port = Number(new URL(api.baseUrl).port);
    const idle = connect(port, "127.0.0.1");
    idle.write("GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n");
    await once(idle, "data");
    const body = JSON.stringify({ description: "in flight" });
    const slow = connect(port, "127.0.0.1");
    slow.write(
      `POST /ip_policies HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${api.apiKey}\r\nservice-version: 2\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`,
    );
    assert.match(String((await once(slow, "data"))[0]), /^HTTP\/1\.1 100 /);
    const answer = readText(slow);
    const idleEnd = readText(idle);
    api.edge.send({ type: "draining" });
    const stopped = api.stop();
    assert.equal(await idleEnd, "");
    slow.write(body);
    assert.match(await answer, /^HTTP\/1\.1 201 [^]*\r\nconnection: close\r\n/i);
    await stopped;
  });

  it("readiness reports writes separately, and when they work again", async () => {
    const { api, ask } = await startAsked();
    api.edge.answer = (message) =>
      message.type === "metrics_request" ? { type: "metrics", call: message.call, text: "" } : undefined;
    api.edge.send({ type: "hello", edgeId: "one" });
    api.edge.send({ type: "applied", revision: 1 });
    assert.equal(await ask("?of=writes"), "200 ready\n");
    assert.deepEqual([await metric(api, "postern_ready"), await metric(api, "postern_writes_ready")], ["1", "1"]);
    const database = new DatabaseSync(api.databaseUrl);
    database.exec("create trigger full before update on head begin select raise(abort, 'no room'); end");
    const answer = await api.request("POST", "/ip_policies", { body: {} });
    // Behind a load balancer, the next connection leads to another node.
    const { "retry-after": wait, connection } = answer.headers;
    assert.deepEqual([answer.status, wait, connection], [503, "1", "close"]);
    assert.match(await ask(), /^200 ready\nwrites are rejected because the database does not accept them/);
    assert.match(await ask("?of=writes"), /^503 writes are rejected because the database does not accept them/);
    assert.deepEqual([await metric(api, "postern_ready"), await metric(api, "postern_writes_ready")], ["1", "0"]);
    database.exec("drop trigger full");
    database.close();
    // Detected without any write.
    while (!(await ask("?of=writes")).startsWith("200")) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(await ask(), "200 ready\n");
    await api.ok("POST", "/ip_policies", {});
    await api.stop();
  });

  it("readiness lists its parameters", async () => {
    const { api, ask } = await startAsked();
    for (const query of ["?of=x", "?of=", "?of=traffic&of=writes"]) assert.match(await ask(query), /^400 /);
    await api.stop();
  });
});

describe("the limits of the API", () => {
  it("D9: the limits of the API refuse requests beyond a key's rate, say when to retry, and count keys separately", async () => {
    const api = await startApi(sqlite, { apiRate: 5 });
    try {
      const other = await api.ok("POST", "/api_keys", {});
      for (let count = 0; count < 4; count += 1) await api.ok("GET", "/bot_users");
      const refused = await api.request("GET", "/bot_users");
      assert.deepEqual([refused.status, refused.body.error_code], [429, errorCode("too_many_requests")]);
      assert.ok(Number(refused.headers["retry-after"]) >= 1);
      const allowed = await api.request("GET", "/bot_users", { key: other.token });
      assert.equal(allowed.status, 200);
      assert.equal(allowed.headers["ratelimit-limit"], "5");
      assert.equal(allowed.headers["ratelimit-remaining"], "4");
    } finally {
      await api.stop();
    }
  });

  it("D9: the API limits attempts with wrong keys per address", async () => {
    const api = await startApi(sqlite, { limits: { wrongKeysPerMinute: 3 } });
    try {
      const statuses: number[] = [];
      for (let count = 0; count < 5; count += 1) {
        statuses.push((await api.request("GET", "/bot_users", { key: `wrong${count}` })).status);
      }
      assert.deepEqual(statuses, [401, 401, 401, 429, 429]);
      assert.equal((await api.request("GET", "/bot_users")).status, 200);
    } finally {
      await api.stop();
    }
  });

  it("P8: the API refuses a bootstrap token that could be guessed", async () => {
    await assert.rejects(startApi(sqlite, { bootstrap: { apiKey: "hunter2" } }), /20 to 512/);
  });

  it("the API answers open requests before it stops", async () => {
    const api = await startApi(sqlite);
    const writes = Array.from({ length: 20 }, () => api.request("POST", "/ip_policies", { body: {} }));
    // Connections that the server has not accepted yet are reset, possibly before it has stopped.
    const settled = Promise.allSettled(writes);
    const first = await writes[0];
    await api.stop();
    assert.equal(first?.status, 201);
    for (const result of await settled) {
      if (result.status === "fulfilled") assert.equal(result.value.status, 201);
    }
  });
});

function raw(api: TestApi, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(api.plane.address.port, "127.0.0.1", () => socket.write(text));
    let answer = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => (answer += chunk));
    socket.on("error", reject);
    socket.on("close", () => resolve(answer));
  });
}
