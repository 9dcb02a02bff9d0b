/** The agent's inspector: its local API on a real agent. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { WebSocket, WebSocketServer } from "ws";
import { errorCode } from "../../src/lib/errors.ts";
import { signSample } from "../../src/webhooks/webhook-verification.ts";
import { startCommand } from "../support/command.ts";
import { dialPort, readToEnd } from "../support/connections.ts";
import { eventually } from "../support/eventually.ts";
import { callGrpc, startGrpcService } from "../support/grpc-service.ts";
import { json, useInspectedAgent } from "../support/inspected-agent.ts";
import type { LocalAnswer } from "../support/inspected-agent.ts";

describe("the inspector of an agent", { timeout: 120_000 }, () => {
  const inspected = useInspectedAgent();
  const { call, start, listed, received } = inspected;
  /** Replays a request, and resolves with the result. */
  const replayed = async (edits: object): Promise<LocalAnswer["body"]> => {
    const { status, headers, body } = await call("POST", "/api/requests/http", edits);
    assert.equal(status, 204, JSON.stringify(body));
    return await eventually(
      async () => (await call("GET", String(headers.location))).body,
      ({ outcome }) => outcome !== "open",
    );
  };

  it("the local API lists requests, with credentials hidden unless they are requested", async () => {
    await inspected.platform.request(`${inspected.url}/first?q=1`, {
      method: "POST",
      headers: { authorization: "Bearer visitor-secret", "x-team": "web" },
      body: "hello",
    });
    const [one] = await listed("?limit=1&tunnel_name=command_line");
    assert.deepEqual(
      [one.request.method, one.request.uri, one.response.status_code, one.response.status, one.outcome],
      ["POST", "/first?q=1", 200, "200 OK", "complete"],
    );
    assert.equal(one.remote_addr, "127.0.0.1");
    assert.ok(one.duration > 0 && one.first_byte > 0 && one.first_byte <= one.duration);
    assert.deepEqual(one.request.headers["x-team"], ["web"]);
    const raw = Buffer.from(one.request.raw, "base64").toString();
    assert.match(raw, /^POST \/first\?q=1 HTTP\/1\.1\r\n.*\r\n\r\nhello$/s);
    assert.doesNotMatch(raw, /visitor-secret/);
    assert.doesNotMatch(JSON.stringify(one), /service-secret/);
    const { body: whole } = await call("GET", `${one.uri}?reveal=true`);
    assert.deepEqual(whole.request.headers.authorization, ["Bearer visitor-secret"]);
    assert.deepEqual(whole.response.headers["set-cookie"], ["session=service-secret"]);
    assert.deepEqual(await listed("?tunnel_name=other"), []);
  });

  it("the local API lists JSON-RPC calls, and filters by method and name", async () => {
    for (const name of ["weather", "search"]) {
      const params = { name, arguments: { city: "Ulm" } };
      await inspected.platform.request(`${inspected.url}/mcp`, {
        method: "POST",
        headers: json,
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
      });
    }
    const found = await listed("?rpc_method=tools/call&rpc_name=search&brief=true");
    const brief = { kind: "call", from: "client", method: "tools/call", name: "search", answered: false };
    assert.deepEqual(
      found.map(({ rpc }: { rpc: unknown }) => rpc),
      [[brief]],
    );
    assert.deepEqual((await call("GET", found[0].uri)).body.rpc, [{ ...brief, params: { city: "Ulm" } }]);
    assert.deepEqual(await listed("?rpc_name=other"), []);
  });

  it("the local API reports the time of the edge, the tunnel, the connection and the service", async () => {
    const { hostname } = new URL(inspected.url);
    const visitor = await inspected.platform.connect(hostname);
    const beganAt = performance.now();
    const arrived = once(inspected.service.server, "request").then(() => performance.now());
    visitor.write(`POST /timed HTTP/1.1\r\nhost: ${hostname}\r\ncontent-length: 4\r\n\r\n`);
    const arrivedAt = await arrived;
    // The service answers after it has received the whole body.
    await listed("?limit=1");
    const heldMs = performance.now() - arrivedAt;
    visitor.write("body");
    await once(visitor, "data");
    const visitorMs = performance.now() - beganAt;
    visitor.destroy();
    const { timing } = await eventually(
      async () => (await listed("?limit=1"))[0],
      (one) => one?.request.uri === "/timed" && one.timing.edge !== null,
    );
    const { edge, tunnel, connect, upstream, first_byte: first } = timing;
    assert.ok(edge > 0 && tunnel >= 0 && connect >= 0, JSON.stringify(timing));
    assert.ok(upstream >= heldMs * 1e6, JSON.stringify({ ...timing, heldMs }));
    assert.ok(first <= visitorMs * 1e6, JSON.stringify({ ...timing, visitorMs }));
    assert.ok(Math.abs(edge + tunnel + connect + upstream - first) < 10_000, JSON.stringify(timing));
    // A replay does not pass an edge.
    const again = await replayed({ id: (await listed("?limit=1"))[0].id });
    assert.deepEqual([again.timing.edge, again.timing.tunnel], [null, null]);
    assert.ok(again.timing.upstream > 0);
  });

  it("the local API returns a stream while it is open", async () => {
    const visitor = inspected.platform.request(`${inspected.url}/stream`).catch(() => undefined);
    const open = await eventually(
      async () => (await listed("?limit=1"))[0],
      (one) => one?.request.uri === "/stream" && one.response?.body.bytes > 0,
    );
    assert.deepEqual([open.outcome, open.response.body.ended], ["open", false]);
    assert.match(Buffer.from(open.response.raw, "base64").toString(), /\r\n\r\none$/);
    inspected.service.server.closeAllConnections();
    await visitor;
    assert.equal(
      (
        await eventually(
          async () => (await call("GET", open.uri)).body,
          (one) => one.outcome !== "open",
        )
      ).outcome,
      "cut",
    );
  });

  it("the local API returns the messages of an open WebSocket, from both sides, uncompressed", async () => {
    const server = new WebSocketServer({ server: inspected.service.server, perMessageDeflate: { threshold: 0 } });
    server.on("connection", (one) => one.on("message", () => one.send("hello hello again")));
    const { host, hostname } = new URL(inspected.url);
    const secure = await inspected.platform.connect(hostname);
    const socket = new WebSocket(`ws://${host}/chat`, { createConnection: () => secure });
    await once(socket, "open");
    socket.send("hello hello hello");
    await once(socket, "message");
    const [open] = await listed("?limit=1");
    assert.deepEqual([open.request.uri, open.response.status_code, open.outcome], ["/chat", 101, "open"]);
    assert.match(open.response.headers["Sec-WebSocket-Extensions"][0], /permessage-deflate/);
    assert.deepEqual(
      open.websocket.messages.map(({ from, type, text }: Record<string, unknown>) => [from, type, text]),
      [
        ["visitor", "text", "hello hello hello"],
        ["service", "text", "hello hello again"],
      ],
    );
    socket.close(1000, "enough");
    await once(socket, "close");
    const closed = await eventually(
      async () => (await call("GET", open.uri)).body,
      (one) => one.outcome === "upgraded",
    );
    const { from, type, code, text } = closed.websocket.messages[2];
    assert.deepEqual([from, type, code, text], ["visitor", "close", 1000, "enough"]);
    assert.equal((await listed("?limit=1&brief=true"))[0].websocket, undefined);
    server.close();
  });

  it("the local API returns a form's parts by name, and the type and size of files that are not text", async () => {
    const form = new FormData();
    form.set("note", "hello");
    form.set("photo", new Blob([Buffer.from([0xff, 0xd8, 0])], { type: "image/jpeg" }), "a.jpg");
    const encoded = new Request("http://a.example", { method: "POST", body: form });
    await inspected.platform.request(`${inspected.url}/form`, {
      method: "POST",
      headers: { "content-type": encoded.headers.get("content-type") ?? "" },
      body: Buffer.from(await encoded.arrayBuffer()),
    });
    assert.deepEqual((await listed("?limit=1"))[0].request.parts, [
      { name: "note", bytes: 5, text: "hello" },
      { name: "photo", file_name: "a.jpg", content_type: "image/jpeg", bytes: 3 },
    ]);
  });

  it("the local API returns gRPC calls to an HTTP/2-only service, with messages, trailers and status, and replays them", async (t) => {
    const { addr, asked, stop } = await startGrpcService();
    t.after(stop);
    const urls: string[] = [];
    for (const name of ["rpc", "unseen"]) {
      const asks = { name, proto: "http", addr, hostname: `${name}.localhost`, inspect: name === "rpc" };
      urls.push((await call("POST", "/api/tunnels", asks)).body.public_url);
      await callGrpc(inspected.platform, urls.at(-1) as string, Buffer.from("*"));
    }
    const [one] = await listed("?limit=1");
    assert.deepEqual([one.request.uri, one.request.proto, one.outcome], ["/shop.Orders/Get", "HTTP/2.0", "complete"]);
    assert.deepEqual(one.request.grpc.messages, [{ bytes: 1, compressed: false, base64: "Kg==" }]);
    assert.deepEqual(
      [one.response.grpc.messages[0].base64, one.response.grpc.status_name, one.response.grpc.message],
      ["CAE=", "PERMISSION_DENIED", "not you"],
    );
    assert.deepEqual(one.response.trailers["grpc-status"], ["7"]);
    for (const name of ["rpc", "unseen"]) {
      const { metrics } = (await call("GET", `/api/tunnels/${name}`)).body;
      assert.equal(metrics.http.count, 1, name);
    }
    assert.deepEqual(await listed("?tunnel_name=unseen"), []);
    const { host } = new URL(urls[0] as string);
    asked.length = 0;
    const again = await replayed({ id: one.id });
    assert.deepEqual(asked, [`POST ${host} /shop.Orders/Get te: trailers 00000000012a`]);
    assert.deepEqual(
      [again.request.proto, again.replay_of, again.outcome, again.response.grpc.status_name],
      ["HTTP/2.0", one.id, "complete", "PERMISSION_DENIED"],
    );
    const headers = { host: ["rpc.localhost"], "X-Both": ["1", "2"] };
    await replayed({ id: one.id, method: "PUT", uri: "/other?a=1", headers, body: btoa("new") });
    assert.equal(asked.at(-1), "PUT rpc.localhost /other?a=1 x-both: 1, 2 6e6577");
    const refused = await call("POST", "/api/requests/http", { id: one.id, method: "CONNECT" });
    assert.deepEqual([refused.status, refused.body.details.code], [400, errorCode("local_replay_impossible")]);
    // A request over one HTTP version is replayed to a service of the other.
    received.length = 0;
    await replayed({ id: one.id, tunnel_name: "command_line" });
    assert.deepEqual(received, ["POST /shop.Orders/Get \0\0\0\0\x01*"]);
    const [{ id }] = await listed("?limit=1&tunnel_name=command_line");
    await replayed({ id, tunnel_name: "rpc" });
    assert.equal(asked.at(-1), `POST ${host} /shop.Orders/Get 00000000012a`);
  });

  it("a replay uses HTTP/2 over TLS for a service that supports nothing else, and rejects a service with a wrong certificate", async (t) => {
    const { addr, asked, stop } = await startGrpcService(true);
    t.after(stop);
    const asks = { name: "secure", proto: "http", addr, hostname: "secure.localhost", upstream_protocol: "http2" };
    const { public_url: url } = (await call("POST", "/api/tunnels", asks)).body;
    await callGrpc(inspected.platform, url, Buffer.from("*"));
    const [one] = await listed("?limit=1&tunnel_name=secure");
    const again = await replayed({ id: one.id });
    assert.deepEqual(
      [again.request.proto, again.replay_of, again.outcome, again.response.grpc.status_name],
      ["HTTP/2.0", one.id, "complete", "PERMISSION_DENIED"],
    );
    const sent = `POST ${new URL(url).host} /shop.Orders/Get te: trailers 00000000012a`;
    assert.deepEqual(asked, [sent, sent]);
    const strict = { ...asks, name: "strict", hostname: "strict.localhost", upstream_tls_verify: true };
    assert.equal((await call("POST", "/api/tunnels", strict)).status, 201);
    const refused = await call("POST", "/api/requests/http", { id: one.id, tunnel_name: "strict" });
    assert.deepEqual([refused.status, refused.body.details.code], [502, errorCode("local_replay_unreachable")]);
    assert.deepEqual(asked, [sent, sent]);
  });

  it("a replay reaches the service once, with the request's original credentials", async () => {
    await inspected.platform.request(`${inspected.url}/again`, {
      method: "PUT",
      headers: { authorization: "Bearer kept" },
      body: "body",
    });
    const [one] = await listed("?limit=1");
    received.length = 0;
    const again = await replayed({ id: one.id });
    assert.deepEqual(received, ["PUT /again body"]);
    assert.equal(again.replay_of, one.id);
    assert.match(Buffer.from(again.response.raw, "base64").toString(), /PUT body Bearer kept$/);
  });

  it("a replay is editable: another method, path, fields and body", async () => {
    const [one] = await listed("?limit=1");
    received.length = 0;
    await replayed({ id: one.id, method: "POST", uri: "/edited", headers: { "x-a": ["1"] }, body: btoa("new") });
    assert.deepEqual(received, ["POST /edited new"]);
    const smuggled = await call("POST", "/api/requests/http", { id: one.id, headers: { "x-a": ["1\r\nx-b: 2"] } });
    assert.deepEqual([smuggled.status, smuggled.body.error_code, smuggled.body.status_code], [400, 100, 400]);
    const target = await call("POST", "/api/requests/http", { id: one.id, uri: "/ HTTP/1.1\r\nx: y" });
    assert.equal(target.status, 400);
    assert.deepEqual(received, ["POST /edited new"]);
  });

  it("replays are limited in number, and a finished one frees its slot", async () => {
    const visitor = inspected.platform.request(`${inspected.url}/stream`).catch(() => undefined);
    const open = await eventually(
      async () => (await listed("?limit=1"))[0],
      (one) => one?.request.uri === "/stream" && one.response !== null,
    );
    inspected.service.server.closeAllConnections();
    await visitor;
    const again = async () => await call("POST", "/api/requests/http", { id: open.id });
    const answers = await Promise.all(Array.from({ length: 33 }, again));
    const count = (wanted: number): number => answers.filter(({ status }) => status === wanted).length;
    assert.deepEqual([count(204), count(503)], [32, 1]);
    inspected.service.server.closeAllConnections();
    const next = await eventually(again, ({ status }) => status === 204);
    assert.equal(next.status, 204);
    inspected.service.server.closeAllConnections();
  });

  for (const [what, headers, method, status] of [
    ["a name that resolves to this machine (DNS rebinding)", { host: "evil.example:4040" }, "GET", 403],
    ["a page of another site", { origin: "https://evil.example", ...json }, "POST", 403],
    ["a form of another site", { "content-type": "text/plain" }, "POST", 415],
    ["a delete by another site", { origin: "https://evil.example" }, "DELETE", 403],
  ] as const) {
    it(`the local API rejects ${what}, and allows no site to read it`, async () => {
      const before = (await listed()).length;
      received.length = 0;
      const [one] = await listed("?limit=1");
      const {
        status: given,
        body,
        headers: fields,
      } = await call(method, "/api/requests/http", method === "POST" ? { id: one.id } : undefined, headers);
      assert.deepEqual([given, body.status_code], [status, status]);
      assert.equal(fields["access-control-allow-origin"], undefined);
      assert.equal((await listed()).length, before);
      assert.deepEqual(received, []);
    });
  }

  it("the local API answers by additional names if they are configured, and by no others", async () => {
    const names = ["--inspector-host", "tools.example", "--inspector-host", ".lan", "--inspector-host", "10.0.0.0/8"];
    const one = await start(
      "--inspector",
      "0",
      "--url",
      "https://named.localhost",
      "--inspect-db-size",
      "-1",
      ...names,
    );
    const status = async (host: string): Promise<number> =>
      (await call("GET", "/api/status", undefined, { host }, one.port)).status;
    for (const host of ["tools.example", "TOOLS.example:4040", "a.b.lan", "10.1.2.3:4040", "localhost"]) {
      assert.equal(await status(host), 200, host);
    }
    for (const host of ["x.tools.example", "lan", "11.0.0.1", "evil.example"]) {
      assert.equal(await status(host), 403, host);
    }
    // A database with zero bytes stores nothing.
    await inspected.platform.request(`${one.url}/x`);
    assert.deepEqual((await call("GET", "/api/requests/http", undefined, {}, one.port)).body.requests, []);
    await one.agent.end();
  });

  it("the local API deletes requests on demand", async () => {
    assert.ok((await listed()).length > 0);
    assert.equal((await call("DELETE", "/api/requests/http")).status, 204);
    assert.deepEqual(await listed(), []);
  });

  it("captured credentials are in no log and in no error", async () => {
    await inspected.platform.request(`${inspected.url}/secret`, {
      headers: { authorization: "Bearer log-secret", cookie: "a=log-secret" },
    });
    const [one] = await listed("?limit=1");
    const refused = await call("POST", "/api/requests/http", {
      id: one.id,
      tunnel_name: "none",
      headers: { authorization: ["log-secret\n"] },
    });
    assert.doesNotMatch(JSON.stringify(refused.body), /log-secret/);
    assert.doesNotMatch(inspected.agent.stderr() + inspected.agent.stdout(), /log-secret/);
  });

  it("a webhook is replayed with a current signature if its tunnel verifies it, unless the caller keeps the old one", async () => {
    const flags = ["--verify-webhook", "slack", "--verify-webhook-secret", "s3cret", "--inspector", "0"];
    const one = await start(...flags, "--url", "https://hooks.localhost");
    const body = '{"type":"ping"}';
    const then = Date.now() - 100_000;
    const { headers } = signSample("slack", { secret: "s3cret", body: Buffer.from(body), url: one.url, now: then });
    const came = await inspected.platform.request(`${one.url}/in`, {
      method: "POST",
      body,
      headers: { ...headers, ...json },
    });
    assert.equal(came.status, 200);
    const at = (method: string, path: string, given?: object) => call(method, path, given, given ? json : {}, one.port);
    const [first] = (await at("GET", "/api/requests/http")).body.requests;
    assert.equal((await at("GET", "/api/tunnels")).body.tunnels[0].config.signs, "slack");
    const stamps: number[] = [];
    for (const more of [{}, { sign: false }]) {
      const sent = await at("POST", "/api/requests/http", { id: first.id, ...more });
      const { request } = (await at("GET", String(sent.headers.location))).body;
      const [, stamp = []] =
        Object.entries(request.headers as Record<string, string[]>).find(([name]) => /slack-request/i.test(name)) ?? [];
      stamps.push(Number(stamp[0]) * 1000);
    }
    assert.ok((stamps[0] as number) > then + 60_000, "a fresh time");
    assert.equal(stamps[1], Math.floor(then / 1000) * 1000);
    await one.agent.end("SIGINT");
  });

  it("the inspector stores requests without a terminal, stores nothing if a tunnel or a size says so, and can be off", async () => {
    const silent = await start("--inspector", "0", "--inspect", "off", "--url", "https://silent.localhost");
    const sized = await start("--inspector", "0", "--inspect-db-size", "-1", "--url", "https://sized.localhost");
    const usual = await start("--url", "https://usual.localhost");
    const off = await start("--inspector", "off", "--url", "https://off.localhost");
    for (const one of [silent, sized, usual, off]) await inspected.platform.request(`${one.url}/x`);
    for (const one of [silent, sized, usual]) {
      const isKept = one === usual;
      const { requests } = (await call("GET", "/api/requests/http", undefined, {}, one.port)).body;
      assert.deepEqual(
        requests.map(({ uri }: { uri: string }) => uri.startsWith("/api/requests/http/")),
        isKept ? [true] : [],
      );
      const [tunnel] = (await call("GET", "/api/tunnels", undefined, {}, one.port)).body.tunnels;
      assert.deepEqual([tunnel.config.inspect, tunnel.metrics.http.count], [isKept, 1]);
    }
    assert.ok(usual.port >= 4040);
    assert.doesNotMatch(off.agent.stderr(), /"inspector"/);
    for (const one of [silent, sized, usual, off]) await one.agent.end();
  });

  it("a port that is taken is reported if the user chose it", async () => {
    const access = ["--server", "127.0.0.1:1", "--token", "x"];
    const ended = await startCommand(["http", "3000", ...access, "--inspector", String(inspected.port)]).finished;
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, /the inspector cannot listen: .*EADDRINUSE/);
  });

  it("the inspector stops with its agent", async () => {
    const one = await start("--inspector", "0", "--url", "https://closing.localhost");
    const open = await dialPort(one.port);
    const [ended] = await Promise.all([one.agent.end("SIGINT"), readToEnd(open)]);
    assert.equal(ended.code, 130);
  });
});
