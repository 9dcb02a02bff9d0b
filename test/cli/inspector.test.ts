/** The agent's inspector: its local API beside a real agent. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { request as requestHttp } from "../../src/lib/http.ts";
import { catalogue, errorCode } from "../../src/lib/errors.ts";
import { sign } from "../../src/webhooks/verify.ts";
import { startCommand } from "../support/command.ts";
import type { Running } from "../support/command.ts";
import { dialPort, readToEnd } from "../support/connections.ts";
import { eventually } from "../support/eventually.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

interface Seen {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

const json = { "content-type": "application/json" };

describe("the inspector of an agent", { timeout: 120_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-inspector-"));
  const received: string[] = [];
  const started: Running[] = [];
  let platform: TestPlatform;
  let service: HttpService;
  let agent: Running;
  let url: string;
  let port: number;
  before(async () => {
    platform = await startPlatform({ drainMs: 50 });
    service = await startHttpService((request, response) => {
      let text = "";
      request.on("data", (part) => (text += String(part)));
      request.on("end", () => {
        received.push(`${request.method} ${request.url} ${text}`);
        if (request.url === "/stream") {
          response.write("one");
          return;
        }
        response.setHeader("set-cookie", "session=service-secret");
        response.end(`${request.method} ${text} ${request.headers.authorization ?? ""}`);
      });
    });
    writeFileSync(join(directory, "ca.pem"), platform.caPem);
    ({ agent, url, port } = await start("--inspector", "0"));
  });
  after(async () => {
    for (const one of started) await one.end();
    await platform.stop();
    await service.stop();
    rmSync(directory, { recursive: true });
  });

  async function start(...args: readonly string[]) {
    const access = ["--server", `127.0.0.1:${platform.agentPort}`, "--ca", join(directory, "ca.pem")];
    const env = { HOME: directory, XDG_CONFIG_HOME: directory, POSTERN_AUTHTOKEN: platform.authtoken };
    const logged = ["--json", "--log-format", "json", ...access];
    const own = startCommand(["http", String(service.port), ...logged, ...args], { env });
    const online = JSON.parse(await own.firstLine()) as { url: string };
    const isOff = args.includes("off");
    const line = isOff
      ? ""
      : await eventually(() => /"url":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(own.stderr())?.[1] ?? "", Boolean);
    started.push(own);
    return { agent: own, url: online.url, port: Number(line) };
  }
  function call(
    method: string,
    path: string,
    body?: object,
    headers: Record<string, string> = body ? json : {},
    at = port,
  ): Promise<Seen> {
    return new Promise((resolve, reject) => {
      const request = requestHttp({ host: "127.0.0.1", port: at, method, path, headers }, (response) => {
        let text = "";
        response.on("data", (part) => (text += String(part)));
        response.on("end", () => {
          const { statusCode: status = 0, headers: fields } = response;
          resolve({ status, headers: fields, body: text === "" ? undefined : JSON.parse(text) });
        });
      });
      request.on("error", reject);
      request.end(body && JSON.stringify(body));
    });
  }
  const listed = async (query = "") => (await call("GET", `/api/requests/http${query}`)).body.requests;

  it("the local API names the tunnel with its URL, as scripts look for it", async () => {
    const { body } = await call("GET", "/api/tunnels");
    const [{ metrics, ...tunnel }] = body.tunnels;
    assert.deepEqual(tunnel, {
      name: "command_line",
      uri: "/api/tunnels/command_line",
      public_url: url,
      proto: "https",
      config: { addr: `http://localhost:${service.port}`, inspect: true },
    });
    assert.deepEqual(Object.keys(metrics.conns), [
      "count",
      "gauge",
      "rate1",
      "rate5",
      "rate15",
      "p50",
      "p90",
      "p95",
      "p99",
    ]);
    assert.deepEqual((await call("GET", tunnel.uri)).body.public_url, url);
    assert.equal((await call("GET", "/api/endpoints")).body.endpoints[0].url, url);
    assert.equal((await call("GET", "/api/status")).body.status, "online");
    assert.equal((await call("GET", "/api/tunnels/other")).status, 404);
  });

  it("the local API lists what passed, with credentials hidden unless they are asked for", async () => {
    await platform.request(`${url}/first?q=1`, {
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

  it("the local API shows a stream while it goes on", async () => {
    const visitor = platform.request(`${url}/stream`).catch(() => undefined);
    const open = await eventually(
      async () => (await listed("?limit=1"))[0],
      (one) => one?.request.uri === "/stream" && one.response?.body.bytes > 0,
    );
    assert.deepEqual([open.outcome, open.response.body.ended], ["open", false]);
    assert.match(Buffer.from(open.response.raw, "base64").toString(), /\r\n\r\none$/);
    service.server.closeAllConnections();
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

  it("a replay reaches the service once, with the credentials that it came with", async () => {
    await platform.request(`${url}/again`, { method: "PUT", headers: { authorization: "Bearer kept" }, body: "body" });
    const [one] = await listed("?limit=1");
    received.length = 0;
    const { status, headers } = await call("POST", "/api/requests/http", { id: one.id });
    assert.equal(status, 204);
    const again = await eventually(
      async () => (await call("GET", String(headers.location))).body,
      (seen) => seen.outcome === "complete",
    );
    assert.deepEqual(received, ["PUT /again body"]);
    assert.equal(again.replay_of, one.id);
    assert.match(Buffer.from(again.response.raw, "base64").toString(), /PUT body Bearer kept$/);
  });

  it("a replay is edited: another method, path, fields and body", async () => {
    const [one] = await listed("?limit=1");
    received.length = 0;
    const edits = { id: one.id, method: "POST", uri: "/edited", headers: { "x-a": ["1"] }, body: btoa("new") };
    const { headers } = await call("POST", "/api/requests/http", edits);
    await eventually(
      async () => (await call("GET", String(headers.location))).body.outcome,
      (outcome) => outcome === "complete",
    );
    assert.deepEqual(received, ["POST /edited new"]);
    const smuggled = await call("POST", "/api/requests/http", { id: one.id, headers: { "x-a": ["1\r\nx-b: 2"] } });
    assert.deepEqual([smuggled.status, smuggled.body.error_code, smuggled.body.status_code], [400, 100, 400]);
    const target = await call("POST", "/api/requests/http", { id: one.id, uri: "/ HTTP/1.1\r\nx: y" });
    assert.equal(target.status, 400);
    assert.deepEqual(received, ["POST /edited new"]);
  });

  it("replays are bounded in number, and one that has ended makes room", async () => {
    const visitor = platform.request(`${url}/stream`).catch(() => undefined);
    const open = await eventually(
      async () => (await listed("?limit=1"))[0],
      (one) => one?.request.uri === "/stream" && one.response !== null,
    );
    service.server.closeAllConnections();
    await visitor;
    const again = async () => await call("POST", "/api/requests/http", { id: open.id });
    const answers = await Promise.all(Array.from({ length: 33 }, again));
    const count = (wanted: number): number => answers.filter(({ status }) => status === wanted).length;
    assert.deepEqual([count(204), count(503)], [32, 1]);
    service.server.closeAllConnections();
    const next = await eventually(again, ({ status }) => status === 204);
    assert.equal(next.status, 204);
    service.server.closeAllConnections();
  });

  for (const [what, headers, method, status] of [
    ["a name that leads here (DNS rebinding)", { host: "evil.example:4040" }, "GET", 403],
    ["a page of another site", { origin: "https://evil.example", ...json }, "POST", 403],
    ["a form of another site", { "content-type": "text/plain" }, "POST", 415],
    ["a delete by another site", { origin: "https://evil.example" }, "DELETE", 403],
  ] as const) {
    it(`the local API refuses ${what}, and gives no site leave to read it`, async () => {
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

  it("the local API answers by further names where it is told to, and by no others", async () => {
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
    // A database of no bytes keeps none.
    await platform.request(`${one.url}/x`);
    assert.deepEqual((await call("GET", "/api/requests/http", undefined, {}, one.port)).body.requests, []);
    await one.agent.end();
  });

  it("the local API forgets what it is told to forget", async () => {
    assert.ok((await listed()).length > 0);
    assert.equal((await call("DELETE", "/api/requests/http")).status, 204);
    assert.deepEqual(await listed(), []);
  });

  it("captured credentials are in no log and in no refusal", async () => {
    await platform.request(`${url}/secret`, {
      headers: { authorization: "Bearer log-secret", cookie: "a=log-secret" },
    });
    const [one] = await listed("?limit=1");
    const refused = await call("POST", "/api/requests/http", {
      id: one.id,
      tunnel_name: "none",
      headers: { authorization: ["log-secret\n"] },
    });
    assert.doesNotMatch(JSON.stringify(refused.body), /log-secret/);
    assert.doesNotMatch(agent.stderr() + agent.stdout(), /log-secret/);
  });

  it("a tunnel is started and stopped by the local API, and is there again after its session was lost", async () => {
    const asked = { name: "late", addr: String(service.port), proto: "http", url: "https://late.localhost" };
    const { status, body: started } = await call("POST", "/api/tunnels", asked);
    assert.deepEqual(
      [status, started.name, started.uri, started.public_url, started.proto, started.config],
      [
        201,
        "late",
        "/api/tunnels/late",
        `https://late.localhost:${platform.httpsPort}`,
        "https",
        { addr: `http://localhost:${service.port}`, inspect: true },
      ],
    );
    assert.deepEqual(Object.keys(started.metrics), ["conns", "http"]);
    assert.equal((await platform.request(`${started.public_url}/x`)).status, 200);
    const again = await call("POST", "/api/tunnels", asked);
    assert.equal(again.status, 400);
    assert.deepEqual(again.body, {
      error_code: 102,
      status_code: 400,
      msg: "invalid tunnel configuration",
      details: {
        err: 'tunnel "late" already exists',
        code: errorCode("local_tunnel_invalid"),
        fix: catalogue.local_tunnel_invalid.fix,
      },
    });
    const { body: sessions } = await platform.api("GET", "/tunnel_sessions");
    for (const { id } of sessions.tunnel_sessions) await platform.api("POST", `/tunnel_sessions/${id}/restart`);
    const list = async () =>
      (await platform.api("GET", "/tunnel_sessions")).body.tunnel_sessions.map(({ id }: { id: string }) => id);
    const former = sessions.tunnel_sessions.map(({ id }: { id: string }) => id);
    await eventually(list, (ids) => ids.length > 0 && !ids.some((id: string) => former.includes(id)));
    assert.equal((await platform.request(`${started.public_url}/x`)).status, 200);
    assert.deepEqual([(await call("DELETE", started.uri)).status, (await call("GET", started.uri)).status], [204, 404]);
    assert.equal((await call("DELETE", started.uri)).status, 404);
    assert.equal((await platform.request(`${started.public_url}/x`)).status, 404);
    assert.equal((await platform.request(`${url}/x`)).status, 200);
  });

  it("an endpoint is started and stopped by the local API, in the words of version 3", async () => {
    const asked = { name: "third", url: "https://third.localhost", upstream: { url: String(service.port) } };
    const { status, body } = await call("POST", "/api/endpoints", { ...asked, pooling_enabled: true });
    assert.deepEqual(
      [status, body.uri, body.url, body.upstream.url, body.pooling_enabled],
      [
        201,
        "/api/endpoints/third",
        `https://third.localhost:${platform.httpsPort}`,
        `http://localhost:${service.port}`,
        true,
      ],
    );
    assert.equal((await call("DELETE", body.uri)).status, 204);
  });

  it("a webhook is replayed with a signature of now where its tunnel verifies it, unless it is told to leave it", async () => {
    const flags = ["--verify-webhook", "slack", "--verify-webhook-secret", "s3cret", "--inspector", "0"];
    const one = await start(...flags, "--url", "https://hooks.localhost");
    const body = '{"type":"ping"}';
    const then = Date.now() - 100_000;
    const { headers } = sign("slack", { secret: "s3cret", body: Buffer.from(body), url: one.url, now: then });
    const came = await platform.request(`${one.url}/in`, { method: "POST", body, headers: { ...headers, ...json } });
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

  it("an endpoint is put in the place of another by the local API, which is back where the server refuses it", async () => {
    const asked = { url: "https://put.localhost", upstream: { url: String(service.port) } };
    const made = await call("PUT", "/api/endpoints/put", asked);
    assert.deepEqual([made.status, made.body.name, made.body.pooling_enabled], [201, "put", false]);
    const { status, body } = await call("PUT", made.body.uri, { ...asked, pooling_enabled: true });
    assert.deepEqual([status, body.url, body.pooling_enabled], [200, made.body.url, true]);
    assert.equal((await platform.request(`${body.url}/x`)).status, 200);
    for (const [wrong, code, reason] of [
      [{ ...asked, url: "http://put.localhost" }, 502, "local_tunnel_refused"],
      [{ ...asked, name: "other" }, 400, "local_tunnel_invalid"],
      [{ ...asked, upstrem: {} }, 400, "local_tunnel_invalid"],
    ] as const) {
      const refused = await call("PUT", made.body.uri, wrong);
      assert.deepEqual([refused.status, refused.body.details.code], [code, errorCode(reason)]);
      assert.equal((await platform.request(`${body.url}/x`)).status, 200);
    }
    const tunnel = { proto: "http", addr: String(service.port), subdomain: "put" };
    assert.equal((await call("PUT", "/api/tunnels/put", tunnel)).status, 200);
    assert.equal((await platform.request(`${body.url}/x`)).status, 200);
    assert.equal((await call("DELETE", made.body.uri)).status, 204);
  });

  for (const [what, body, status, code, err] of [
    ["without a name", { addr: "80" }, 400, 102, /needs a "name"/],
    ["without an address", { name: "x", proto: "http" }, 400, 102, /needs an address/],
    ["of another protocol", { name: "x", addr: "80", proto: "udp" }, 400, 102, /"proto" must be one of http/],
    ["with a key that there is not", { name: "x", addr: "80", options: {} }, 400, 102, /there is no key "options"/],
    ["of a directory", { name: "x", addr: "file:///etc" }, 400, 102, /"addr" is on this machine's disk/],
    ["of a socket", { name: "x", addr: ["80", "/a=unix:/run/x"] }, 400, 102, /is on this machine's disk/],
    ["with a file", { name: "x", addr: "80", traffic_policy_file: "/etc/passwd" }, 400, 102, /names a file/],
    ["that the server refuses", { name: "x", addr: "80", schemes: ["http"] }, 502, 103, /publishes over HTTPS only/],
  ] as const) {
    it(`a tunnel ${what} is refused by the local API in the form that scripts know`, async () => {
      const refused = await call("POST", "/api/tunnels", body);
      assert.deepEqual([refused.status, refused.body.status_code, refused.body.error_code], [status, status, code]);
      assert.match(refused.body.details.err, err);
      assert.equal((await call("GET", "/api/tunnels/x")).status, 404);
    });
  }

  it("postern agent lists, adds and removes tunnels of the agent that runs, and ends it", async () => {
    const one = await start("--inspector", "0", "--url", "https://commanded.localhost");
    const at = ["--inspector", String(one.port)];
    const run = async (...words: string[]) => await startCommand(["agent", ...words, ...at]).finished;
    assert.match((await run("status")).stdout, /^online, \d+ms to the server/);
    const added = await run("add", "more", String(service.port), "--url", "https://more.localhost");
    assert.equal(added.stdout, `https://more.localhost:${platform.httpsPort}\n`, added.stderr);
    assert.match((await run("tunnels")).stdout, /^NAME .*\ncommand_line .*\nmore +https:\/\/more\.localhost/);
    assert.equal((await run("remove", "more")).code, 0);
    const gone = await run("remove", "more");
    assert.deepEqual([gone.code, gone.stderr.includes("there is no tunnel of this name")], [7, true]);
    assert.equal((await run("stop")).code, 0);
    assert.equal((await one.agent.finished).code, 0);
    const late = await run("status");
    assert.equal(late.code, 4);
    assert.match(late.stderr, /no agent answers at 127\.0\.0\.1:\d+ \(ECONNREFUSED\): start one, or name its address/);
  });

  it("the inspector keeps nothing where a tunnel says so, nor unasked without a terminal, and can be off", async () => {
    const silent = await start("--inspector", "0", "--inspect", "false", "--url", "https://silent.localhost");
    const usual = await start("--url", "https://usual.localhost");
    const off = await start("--inspector", "off", "--url", "https://off.localhost");
    for (const one of [silent, usual, off]) await platform.request(`${one.url}/x`);
    for (const one of [silent, usual]) {
      assert.deepEqual((await call("GET", "/api/requests/http", undefined, {}, one.port)).body.requests, []);
      const [tunnel] = (await call("GET", "/api/tunnels", undefined, {}, one.port)).body.tunnels;
      assert.deepEqual([tunnel.config.inspect, tunnel.metrics.http.count], [false, 1]);
    }
    assert.ok(usual.port >= 4040);
    assert.doesNotMatch(off.agent.stderr(), /"inspector"/);
    for (const one of [silent, usual, off]) await one.agent.end();
  });

  it("a place that is taken is told, where it was asked for", async () => {
    const access = ["--server", "127.0.0.1:1", "--token", "x"];
    const ended = await startCommand(["http", "3000", ...access, "--inspector", String(port)]).finished;
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, /the inspector cannot listen: .*EADDRINUSE/);
  });

  it("the inspector closes with its agent", async () => {
    const one = await start("--inspector", "0", "--url", "https://closing.localhost");
    const open = await dialPort(one.port);
    const [ended] = await Promise.all([one.agent.end("SIGINT"), readToEnd(open)]);
    assert.equal(ended.code, 130);
  });
});
