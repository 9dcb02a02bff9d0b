/** Effects of each method of the public SDK's builders on real traffic, and events for session handlers. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttp2Server } from "node:http2";
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { after, before, describe, it } from "node:test";
import { connect } from "node:tls";
import { errorCode } from "../../src/lib/errors.ts";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { dialPort, readToEnd } from "../support/connections.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { eventually } from "../support/eventually.ts";
import type { AskOptions } from "../support/http-client.ts";
import { httpsEdge, newCredential } from "../support/objects.ts";
import type { Call, SdkCommand } from "../support/sdk-agent.ts";
import { startRelay } from "../support/relay.ts";
import type { Relay } from "../support/relay.ts";
import { startSdk } from "../support/sdk-process.ts";
import type { SdkProcess } from "../support/sdk-process.ts";
import { startHttpService, startHttpsService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { opcodes, openWebSocket } from "../support/websocket.ts";

const { token, object } = newCredential();
const refusing = (phase: string): string =>
  JSON.stringify({ [phase]: [{ actions: [{ type: "custom-response", config: { status_code: 418 } }] }] });
const denying = JSON.stringify({ on_tcp_connect: [{ actions: [{ type: "deny" }] }] });

describe("builders of the public SDK", { timeout: 120_000 }, () => {
  let edge: TestEdge;
  let web: HttpService;
  let upper: Server;
  let relay: Relay;
  let sdk: SdkProcess;
  let count = 0;
  before(async () => {
    edge = await startTestEdge([object, ...httpsEdge("shop", ["shop.example.com"])], { drainMs: 100 });
    web = await startHttpService((request, response) => {
      const status = Number(/^\/status\/(\d+)$/.exec(request.url ?? "")?.[1] ?? 200);
      response.writeHead(status, { "x-served-by": "web", "content-type": "text/plain" });
      response.end(`${JSON.stringify(request.headers)}${" ".repeat(2000)}`);
    });
    upper = createTcpServer({ allowHalfOpen: true }, (socket) => {
      socket.on("error", () => {});
      socket.on("data", (bytes: Buffer) => socket.end(bytes.toString("latin1").toUpperCase()));
    }).listen(0, "127.0.0.1");
    await once(upper, "listening");
    relay = await startRelay(edge.edge.agent.port);
    sdk = await startSdk({ NGROK_AUTHTOKEN: token });
    await sdk.ask({
      name: "build",
      calls: [
        ["authtokenFromEnv"],
        ["serverAddr", `localhost:${relay.port}`],
        ["caCert", edge.authority.certificatePem],
        ["clientInfo", "shop-agent", "2.1.0", "for tests"],
        ["metadata", "laptop"],
        ["heartbeatInterval", 1],
        ["handleHeartbeat"],
        ["handleDisconnection"],
        ["handleStopCommand"],
        ["handleRestartCommand"],
        ["handleUpdateCommand"],
      ],
    });
  });
  after(async () => {
    await sdk.stop();
    relay.stop();
    upper.close();
    await web.stop();
    await edge.edge.stop();
  });

  /** Whether a handler of the session is called. */
  const hears = (handler: string): Promise<boolean> =>
    eventually(
      async () => ((await sdk.ask({ name: "events" })).said as string[][]).some(([name]) => name === handler),
      (heard) => heard,
    );
  const upperUrl = (): string => `tcp://127.0.0.1:${(upper.address() as AddressInfo).port}`;
  async function build(
    builder: SdkCommand["builder"],
    calls: readonly Call[],
    more: Pick<SdkCommand, "begin" | "to"> = {},
  ) {
    const to = builder === "httpEndpoint" ? `http://127.0.0.1:${web.port}` : upperUrl();
    return await sdk.ask({ name: "build", builder: builder ?? "httpEndpoint", calls, to, ...more });
  }
  /** The host name of an HTTP endpoint with these options. */
  async function host(calls: readonly Call[], more: Pick<SdkCommand, "begin" | "to"> = {}): Promise<string> {
    count += 1;
    const domain = `b${count}.apps.example.com`;
    const { url } = await build("httpEndpoint", [["domain", domain], ...calls], more);
    assert.equal(new URL(String(url)).hostname, domain);
    return domain;
  }
  const ask = (name: string, more: Partial<AskOptions> = {}) => edge.ask("h1", { host: name, ...more });
  const statuses = async (name: string, ...asked: readonly Partial<AskOptions>[]): Promise<number[]> => {
    const found: number[] = [];
    for (const one of asked) found.push((await ask(name, one)).status);
    return found;
  };
  async function said(port: number): Promise<string> {
    const socket = await dialPort(port);
    socket.write("hello");
    return (await readToEnd(socket)).text;
  }
  async function saidInTls(servername: string, ca: string): Promise<string> {
    const socket = connect({ host: "127.0.0.1", port: edge.edge.https.port, servername, ca });
    await once(socket, "secureConnect");
    socket.write("hello");
    return (await readToEnd(socket)).text;
  }

  for (const [what, calls, fits, other, refused] of [
    ["allowUserAgent", [["allowUserAgent", "^good/"]], { headers: { "user-agent": "good/1" } }, {}, 403],
    [
      "denyUserAgent",
      [["denyUserAgent", "bad"]],
      { headers: { "user-agent": "good/1" } },
      { headers: { "user-agent": "bad/1" } },
      403,
    ],
    ["allowCidr", [["allowCidr", "127.0.0.7/32"]], { source: "127.0.0.7" }, {}, 403],
    ["denyCidr", [["denyCidr", "127.0.0.1/32"]], { source: "127.0.0.7" }, {}, 403],
    ["trafficPolicy", [["trafficPolicy", refusing("on_http_request")]], undefined, {}, 418],
    ["policy", [["policy", refusing("inbound")]], undefined, {}, 418],
  ] as const) {
    it(`builders of the public SDK with ${what} refuse visitors who do not match`, async () => {
      const name = await host(calls);
      assert.deepEqual(await statuses(name, other, ...(fits ? [fits] : [])), fits ? [refused, 200] : [refused]);
    });
  }

  it("builders of the public SDK change header fields", async () => {
    const name = await host([
      ["requestHeader", "x-team", "web"],
      ["removeRequestHeader", "x-secret"],
      ["responseHeader", "x-edge", "postern"],
      ["removeResponseHeader", "x-served-by"],
    ]);
    const { headers, body } = await ask(name, { headers: { "x-secret": "1" } });
    const seen = JSON.parse(body.toString()) as Record<string, string>;
    assert.deepEqual([seen["x-team"], seen["x-secret"]], ["web", undefined]);
    assert.deepEqual([headers["x-edge"], headers["x-served-by"]], ["postern", undefined]);
  });

  it("builders of the public SDK compress, break circuits, and verify webhooks", async () => {
    const zipped = await ask(await host([["compression"]]), { headers: { "accept-encoding": "gzip" } });
    assert.equal(zipped.headers["content-encoding"], "gzip");
    const broken = await host([["circuitBreaker", 0.1]]);
    for (let at = 0; at < 30; at += 1) await ask(broken, { path: "/status/500" });
    assert.equal((await ask(broken)).headers["postern-error-code"], errorCode("circuit_open"));
    const signed = await host([["webhookVerification", "github", "s3cret"]]);
    const body = '{"zen":"x"}';
    const signature = `sha256=${createHmac("sha256", "s3cret").update(body).digest("hex")}`;
    const send = (one: string): Partial<AskOptions> => ({
      method: "POST",
      body,
      headers: { "x-hub-signature-256": one, "content-type": "application/json" },
    });
    assert.deepEqual(await statuses(signed, send(signature), send(`sha256=${"0".repeat(64)}`)), [200, 403]);
  });

  it("builders of the public SDK with websocketTcpConversion give the service bytes", async () => {
    const name = await host([["websocketTcpConversion"]], { to: upperUrl() });
    const client = await openWebSocket({ connect: (one, at) => edge.connect(one, { host: name, ...at }) }, "h1", {
      host: name,
    });
    client.send(opcodes.binary, "there");
    assert.equal((await client.binary(5)).toString(), "THERE");
    client.destroy();
  });

  it("builders of the public SDK with verifyUpstreamTls reach a service whose certificate is good, or any", async () => {
    const secure = await startHttpsService((_, response) => response.end("in TLS"));
    const to = `https://localhost:${secure.port}`;
    assert.equal((await ask(await host([["verifyUpstreamTls", false]], { to }))).body.toString(), "in TLS");
    assert.notEqual((await ask(await host([["verifyUpstreamTls", true]], { to }))).status, 200);
    await secure.stop();
  });

  it("builders of the public SDK begin by listenAndServe and by listen as by listenAndForward", async () => {
    const served = await host([], { begin: "listenAndServe" });
    assert.equal((await ask(served)).body.toString(), "served by itself");
    assert.equal((await ask(await host([], { begin: "listen" }))).status, 200);
  });

  it("builders of the public SDK with scheme and appProtocol serve plain HTTP and send HTTP/2", async () => {
    const server = createHttp2Server((request, response) => void response.end(`over ${request.httpVersion}`));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const to = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const name = await host([["appProtocol", "http2"]], { to });
    assert.equal((await ask(name)).body.toString(), "over 2.0");
    const { url } = await build("httpEndpoint", [
      ["domain", name],
      ["scheme", "HTTP"],
    ]);
    assert.match(String(url), new RegExp(`^http://${name}`));
    await build(
      "labeledListener",
      [
        ["label", "app", "shop"],
        ["appProtocol", "http2"],
        ["metadata", "labelled"],
        ["verifyUpstreamTls", false],
      ],
      { to },
    );
    const { body } = await eventually(
      () => ask("shop.example.com"),
      ({ status }) => status === 200,
    );
    assert.equal(body.toString(), "over 2.0");
    server.close();
  });

  for (const builder of ["httpEndpoint", "tcpEndpoint", "tlsEndpoint"] as const) {
    it(`builders of the public SDK by ${builder} return metadata and forwardsTo, and know their own values`, async () => {
      const calls: readonly Call[] = [
        ["metadata", "mine"],
        ["forwardsTo", "the shop"],
        ["verifyUpstreamTls", false],
        ["binding", "public"],
      ];
      // A listener that forwards to a URL returns that URL instead.
      const { listener, id } = await build(builder, calls, { begin: "listen" });
      assert.deepEqual([listener?.["metadata"], listener?.["forwardsTo"]], ["mine", "the shop"]);
      const known = edge.reports.flatMap((one) => (one.type === "tunnel_opened" ? [one.tunnel] : [])).at(-1);
      assert.deepEqual([known?.id, known?.metadata, known?.forwardsTo], [id, "mine", "the shop"]);
    });

    it(`builders of the public SDK by ${builder} with poolingEnabled serve one URL together`, async () => {
      const first = await build(builder, [["poolingEnabled", true]]);
      const { host: at, hostname } = new URL(String(first.url));
      const place: Call = builder === "tcpEndpoint" ? ["remoteAddr", at] : ["domain", hostname];
      const second = await build(builder, [place, ["poolingEnabled", true]]);
      assert.equal(first.url, second.url);
      await assert.rejects(build(builder, [place, ["poolingEnabled", false]]), /ERR_NGROK_334/);
    });

    it(`builders of the public SDK by ${builder} with binding are inside, or refused by name`, async () => {
      const inside: Call = builder === "tcpEndpoint" ? ["remoteAddr", "in.internal:9"] : ["domain", "in.internal"];
      const { url } = await build(builder, [inside, ["binding", "internal"]]);
      assert.equal(new URL(String(url)).hostname, "in.internal");
      await sdk.ask({ name: "closeListener" });
      await assert.rejects(build(builder, [["binding", "kubernetes"]]), /kubernetes/);
    });
  }

  it("builders of the public SDK by tcpEndpoint refuse the listed addresses, and write PROXY headers", async () => {
    const at = async (...calls: readonly Call[]): Promise<string> =>
      await said(Number(new URL(String((await build("tcpEndpoint", calls)).url)).port)).catch(() => "");
    assert.equal(await at(), "HELLO");
    assert.equal(await at(["allowCidr", "127.0.0.1/32"]), "HELLO");
    for (const call of [
      ["allowCidr", "192.0.2.0/24"],
      ["denyCidr", "127.0.0.1/32"],
      ["trafficPolicy", denying],
    ] as const)
      assert.equal(await at(call), "", call[0]);
    assert.equal(await at(["policy", JSON.stringify({ inbound: [{ actions: [{ type: "deny" }] }] })]), "");
    assert.match(await at(["proxyProto", "1"]), /^PROXY TCP4 127\.0\.0\.1 /);
  });

  it("builders of the public SDK by tlsEndpoint terminate TLS, and refuse the listed addresses", async () => {
    const own = await createAuthority({ commonName: "Own", now: Date.now() });
    const at = async (...calls: readonly Call[]): Promise<string> => {
      count += 1;
      const name = `t${count}.apps.example.com`;
      const leaf = await issueLeaf(own, { names: [name], usages: ["serverAuth"], now: Date.now(), days: 1 });
      await build("tlsEndpoint", [["domain", name], ["termination", leaf.certificatePem, leaf.keyPem], ...calls]);
      return await saidInTls(name, own.certificatePem).catch(() => "");
    };
    assert.equal(await at(), "HELLO");
    for (const call of [
      ["allowCidr", "192.0.2.0/24"],
      ["denyCidr", "127.0.0.1/32"],
      ["trafficPolicy", denying],
    ] as const)
      assert.equal(await at(call), "", call[0]);
    assert.equal(await at(["mutualTlsca", own.certificatePem]), "");
    assert.equal(await at(["policy", JSON.stringify({ inbound: [{ actions: [{ type: "deny" }] }] })]), "");
    assert.match(await at(["proxyProto", "1"]), /^PROXY TCP4 127\.0\.0\.1 /);
  });

  it("session builders of the public SDK send their client's information, and their handlers receive commands", async () => {
    const opened = await edge.report((one) => one.type === "session_opened");
    assert.ok(opened.type === "session_opened");
    const { id: sessionId, metadata, agentVersion } = opened.session;
    assert.deepEqual([metadata, agentVersion], ["laptop", "2.1.0"]);
    assert.ok(await hears("handleHeartbeat"));
    const commands = [{ name: "stop" }, { name: "restart" }, { name: "update", version: "9.9.9" }] as const;
    for (const [at, command] of commands.entries()) {
      edge.send({ type: "command", call: 70 + at, sessionId, command });
      const result = await edge.report((one) => one.type === "command_result" && one.call === 70 + at);
      assert.ok(result.type === "command_result");
      assert.equal(result.error, undefined, command.name);
      assert.ok(await hears(`handle${command.name[0]?.toUpperCase()}${command.name.slice(1)}Command`), command.name);
    }
  });

  it("functions of the public SDK list the process's listeners, and remove one", async () => {
    const { url } = await build("httpEndpoint", []);
    const call = async (...one: Call): Promise<unknown> => (await sdk.ask({ name: "module", calls: [one] })).said;
    assert.ok(((await call("listeners")) as unknown[]).includes(url));
    assert.equal(await call("getListenerByUrl", String(url)), url);
    await call("disconnect", String(url));
    assert.equal((await ask(new URL(String(url)).hostname)).status, 404);
    assert.equal(((await call("listeners")) as unknown[]).includes(url), false);
  });

  it("sessions of the public SDK report a lost connection to their handler, and reconnect", async () => {
    const name = await host([]);
    relay.breakAt(1, "cut");
    assert.ok(await hears("handleDisconnection"));
    const { status } = await eventually(
      () => ask(name),
      (answer) => answer.status === 200,
    );
    assert.equal(status, 200);
  });
});
