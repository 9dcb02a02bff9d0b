/** Effects of each option of the public SDK's `forward()` on real traffic. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import { createServer as createHttp2Server } from "node:http2";
import type { IncomingMessage } from "node:http";
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connect } from "node:tls";
import { errorCode } from "../../src/lib/errors.ts";
import { request as requestHttp } from "../../src/lib/http.ts";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { readToEnd, dialPort } from "../support/connections.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { protocols } from "../support/http-client.ts";
import type { AskOptions, Protocol } from "../support/http-client.ts";
import { eventually } from "../support/eventually.ts";
import { httpsEdge, newCredential } from "../support/objects.ts";
import { startSdk } from "../support/sdk-process.ts";
import type { SdkProcess } from "../support/sdk-process.ts";
import { startHttpService, startHttpsService } from "../support/services.ts";
import { opcodes, openWebSocket } from "../support/websocket.ts";
import type { HttpService } from "../support/services.ts";

const { token, object } = newCredential();
const basic = (text: string): string => `Basic ${btoa(text)}`;

describe("forward() of the public SDK", { timeout: 120_000 }, () => {
  let edge: TestEdge;
  let service: HttpService;
  let sdk: SdkProcess;
  let count = 0;
  before(async () => {
    edge = await startTestEdge([object], { drainMs: 100 });
    service = await startHttpService((request, response) => {
      const status = Number(/^\/status\/(\d+)$/.exec(request.url ?? "")?.[1] ?? 200);
      response.writeHead(status, { "x-served-by": "web", "content-type": "text/plain" });
      response.end(`${JSON.stringify(request.headers)}${" ".repeat(2000)}`);
    });
    sdk = await startSdk();
  });
  after(async () => {
    await sdk.stop();
    await edge.edge.stop();
    await service.stop();
  });

  const access = () => ({
    authtoken: token,
    server_addr: `localhost:${edge.edge.agent.port}`,
    session_ca_cert: edge.authority.certificatePem,
  });
  /** The endpoint that `forward()` publishes with these options and the connection's address. */
  async function forward(config: Readonly<Record<string, unknown>>, addr: number | string = service.port) {
    const { url } = await sdk.ask({ name: "forward", forward: { addr, ...access(), ...config } });
    return new URL(String(url));
  }
  /** A new name with these options. */
  async function named(config: Readonly<Record<string, unknown>>, addr?: number | string): Promise<string> {
    count += 1;
    const domain = `f${count}.apps.example.com`;
    const url = await forward({ domain, ...config }, addr);
    assert.equal(url.hostname, domain);
    return domain;
  }
  const ask = (protocol: Protocol, host: string, more: Partial<AskOptions> = {}) =>
    edge.ask(protocol, { host, ...more });

  for (const protocol of protocols) {
    for (const [what, config, more, refused] of [
      [
        "basic_auth",
        { basic_auth: "ann:correct horse" },
        { headers: { authorization: basic("ann:correct horse") } },
        401,
      ],
      ["allow_user_agent", { allow_user_agent: ["^good/"] }, { headers: { "user-agent": "good/1" } }, 403],
      ["deny_user_agent", { deny_user_agent: "^$|bad" }, { headers: { "user-agent": "good/1" } }, 403],
      ["ip_restriction_allow_cidrs", { ip_restriction_allow_cidrs: ["127.0.0.7/32"] }, { source: "127.0.0.7" }, 403],
      ["ip_restriction_deny_cidrs", { ip_restriction_deny_cidrs: ["127.0.0.1/32"] }, { source: "127.0.0.7" }, 403],
    ] as const) {
      it(`forward() of the public SDK with ${what} admits only matching visitors over ${protocol}`, async () => {
        const host = await named(config);
        const agent = what === "deny_user_agent" ? { headers: { "user-agent": "bad/1" } } : {};
        assert.equal((await ask(protocol, host, agent)).status, refused);
        assert.equal((await ask(protocol, host, more)).status, 200);
      });
    }

    it(`forward() of the public SDK changes header fields over ${protocol}`, async () => {
      const host = await named({
        request_header_add: ["x-team:web"],
        request_header_remove: "x-secret",
        response_header_add: ["x-edge:postern"],
        response_header_remove: ["x-served-by"],
      });
      const { headers, body } = await ask(protocol, host, { headers: { "x-secret": "1" } });
      const seen = JSON.parse(body.toString()) as Record<string, string>;
      assert.deepEqual([seen["x-team"], seen["x-secret"]], ["web", undefined]);
      assert.deepEqual([headers["x-edge"], headers["x-served-by"]], ["postern", undefined]);
    });

    it(`forward() of the public SDK with compression sends less over ${protocol} to clients that accept it`, async () => {
      const host = await named({ compression: true });
      assert.equal(
        (await ask(protocol, host, { headers: { "accept-encoding": "gzip" } })).headers["content-encoding"],
        "gzip",
      );
      assert.equal((await ask(protocol, host)).headers["content-encoding"], undefined);
    });

    it(`forward() of the public SDK with a traffic policy, or an older policy, has it act over ${protocol}`, async () => {
      const rule = (phase: string) =>
        JSON.stringify({ [phase]: [{ actions: [{ type: "custom-response", config: { status_code: 418 } }] }] });
      const now = await named({ traffic_policy: rule("on_http_request") });
      assert.equal((await ask(protocol, now)).status, 418);
      const older = await named({ policy: rule("inbound") });
      assert.equal((await ask(protocol, older)).status, 418);
    });

    it(`forward() of the public SDK with circuit_breaker refuses over ${protocol} when too much fails`, async () => {
      const host = await named({ circuit_breaker: 0.1 });
      for (let at = 0; at < 30; at += 1) await ask(protocol, host, { path: "/status/500" });
      const { status, headers } = await ask(protocol, host);
      assert.deepEqual([status, headers["postern-error-code"]], [503, errorCode("circuit_open")]);
    });

    it(`forward() of the public SDK with verify_webhook admits requests over ${protocol} that the provider signed`, async () => {
      const host = await named({ verify_webhook_provider: "github", verify_webhook_secret: "s3cret" });
      const body = '{"zen":"x"}';
      const signature = `sha256=${createHmac("sha256", "s3cret").update(body).digest("hex")}`;
      const send = (sent: string) =>
        ask(protocol, host, {
          method: "POST",
          body,
          headers: { "x-hub-signature-256": sent, "content-type": "application/json" },
        });
      assert.equal((await send(signature)).status, 200);
      assert.equal((await send(`sha256=${"0".repeat(64)}`)).status, 403);
    });

    it(`K2: forward() of the public SDK with mutual_tls_cas has clients show certificates over ${protocol}`, async () => {
      const clients = await createAuthority({ commonName: "Clients", now: Date.now() });
      const { certificatePem: cert, keyPem: key } = await issueLeaf(clients, {
        names: ["alice.example"],
        usages: ["clientAuth"],
        now: Date.now(),
        days: 1,
      });
      const host = await named({ mutual_tls_cas: [clients.certificatePem] });
      await assert.rejects(ask(protocol, host));
      assert.equal((await ask(protocol, host, { tls: { cert, key } })).status, 200);
    });

    it(`forward() of the public SDK with app_protocol http2 sends HTTP/2 to the service, over ${protocol}`, async () => {
      const server = createHttp2Server((request, response) => void response.end(`over ${request.httpVersion}`));
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const host = await named({ app_protocol: "http2" }, port);
      assert.equal((await ask(protocol, host)).body.toString(), "over 2.0");
      server.close();
    });

    it(`forward() of the public SDK is published at its hostname as at its domain, over ${protocol}`, async () => {
      const { hostname } = await forward({ hostname: `hn-${protocol}.apps.example.com` });
      assert.equal(hostname, `hn-${protocol}.apps.example.com`);
      assert.equal((await ask(protocol, hostname)).status, 200);
    });

    it(`forward() of the public SDK with websocket_tcp_converter gives the service bytes, over ${protocol}`, async () => {
      const echo = createTcpServer((socket) => socket.on("error", () => {}).pipe(socket)).listen(0, "127.0.0.1");
      await once(echo, "listening");
      const host = await named({ websocket_tcp_converter: true }, (echo.address() as AddressInfo).port);
      const client = await openWebSocket({ connect: (one, at) => edge.connect(one, { host, ...at }) }, protocol, {
        host,
      });
      client.send(opcodes.binary, "there and back");
      assert.equal((await client.binary(14)).toString(), "there and back");
      client.destroy();
      echo.close();
    });

    it(`forward() of the public SDK reaches a service in TLS, whose certificate it need not verify, over ${protocol}`, async () => {
      const secure = await startHttpsService((_, response) => response.end("in TLS"));
      const host = await named({ verify_upstream_tls: false }, `https://localhost:${secure.port}`);
      assert.equal((await ask(protocol, host)).body.toString(), "in TLS");
      await secure.stop();
    });
  }

  it("forward() of the public SDK shows metadata and forwards_to with the tunnel", async () => {
    const { host } = await forward({ domain: "told.apps.example.com", metadata: "mine", forwards_to: "the shop" });
    assert.equal((await ask("h1", new URL(`https://${host}`).hostname)).status, 200);
    const told = edge.reports.flatMap((one) => (one.type === "tunnel_opened" ? [one.tunnel] : [])).at(-1);
    assert.deepEqual([told?.metadata, told?.forwardsTo], ["mine", "the shop"]);
  });

  it("forward() of the public SDK with schemes HTTP serves plain HTTP", async () => {
    const url = await forward({ domain: "plain.apps.example.com", schemes: ["HTTP"] });
    assert.equal(url.protocol, "http:");
    const port = edge.edge.http?.port ?? 0;
    const outgoing = requestHttp({ host: "127.0.0.1", port, agent: false, headers: { host: url.hostname } });
    outgoing.end();
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    response.resume();
    assert.equal(response.statusCode, 200);
    assert.equal((await ask("h1", url.hostname)).status, 404);
    await forward({ domain: url.hostname, schemes: ["HTTPS"] });
    assert.equal((await ask("h1", url.hostname)).status, 200);
  });

  it("forward() of the public SDK with labels serves the edge with those labels", async () => {
    for (const one of httpsEdge("shop", ["shop.example.com"])) edge.put(one);
    await sdk.ask({
      name: "forward",
      forward: { ...access(), addr: service.port, proto: "labeled", labels: "app:shop" },
    });
    const { status } = await eventually(
      () => ask("h1", "shop.example.com"),
      (answer) => answer.status === 200,
    );
    assert.equal(status, 200);
  });

  it("forward() of the public SDK by host and port leads where addr does", async () => {
    const { url } = await sdk.ask({
      name: "forward",
      forward: { ...access(), host: "127.0.0.1", port: service.port },
    });
    assert.equal((await ask("h1", new URL(String(url)).hostname)).status, 200);
  });

  it("forward() of the public SDK with verify_upstream_tls reaches no service whose certificate is not good", async () => {
    const secure = await startHttpsService((_, response) => response.end("in TLS"));
    const host = await named({ verify_upstream_tls: true }, `https://localhost:${secure.port}`);
    assert.notEqual((await ask("h1", host)).status, 200);
    await secure.stop();
  });

  it("forward() of the public SDK with force_new_session has its own session, token, metadata and handlers", async () => {
    const other = await startSdk({ NGROK_AUTHTOKEN: token });
    const { authtoken: _, ...rest } = access();
    const config = { ...rest, addr: service.port, authtoken_from_env: true };
    const sessions = () => edge.reports.filter(({ type }) => type === "session_opened");
    const before = sessions().length;
    const asked = { name: "forward", forward: { ...config, session_metadata: "mine" }, listens: true } as const;
    await other.ask(asked);
    await other.ask({ name: "forward", forward: config });
    assert.equal(sessions().length, before + 1);
    await other.ask({ ...asked, forward: { ...asked.forward, force_new_session: true } });
    const opened = sessions().slice(before);
    assert.deepEqual(
      opened.map((one) => one.type === "session_opened" && one.session.metadata),
      ["mine", "mine"],
    );
    const said = JSON.stringify((await other.ask({ name: "events" })).said);
    assert.match(said, /\["onStatusChange","connected"\]/);
    assert.match(said, /\["onLogEvent"/);
    await other.stop();
  });

  it("G3: forward() of the public SDK with root_cas rejects a server that those did not certify", async () => {
    const { session_ca_cert: _, ...rest } = access();
    const forced = { ...rest, addr: service.port, force_new_session: true };
    await assert.rejects(sdk.ask({ name: "forward", forward: { ...forced, root_cas: "host" } }), /tls handshake/i);
    const file = join(await mkdtemp(join(tmpdir(), "root-cas-")), "ca.pem");
    await writeFile(file, edge.authority.certificatePem);
    const { url } = await sdk.ask({ name: "forward", forward: { ...forced, root_cas: file } });
    assert.equal((await ask("h1", new URL(String(url)).hostname)).status, 200);
  });

  it("forward() of the public SDK requests nothing for its unused options", async () => {
    const unused = {
      auth: "ann:correct horse",
      binPath: "/nowhere",
      configPath: "/nowhere.yml",
      host_header: "rewrite",
      inspect: "false",
      name: "shop",
      region: "eu",
      subdomain: "shop",
      terminate_at: "upstream",
      web_addr: "127.0.0.1:1",
    };
    const host = await named(unused);
    const { status, body } = await ask("h1", host);
    assert.deepEqual([status, (JSON.parse(body.toString()) as Record<string, string>)["host"]], [200, host]);
  });

  it("forward() of the public SDK with binding internal is reached by policies alone", async () => {
    const url = await forward({ domain: "inside.internal", binding: "internal" });
    assert.equal(url.hostname, "inside.internal");
    await assert.rejects(ask("h1", "inside.internal"));
    const forwarding = JSON.stringify({
      on_http_request: [{ actions: [{ type: "forward-internal", config: { url: "https://inside.internal" } }] }],
    });
    assert.equal((await ask("h1", await named({ traffic_policy: forwarding }))).status, 200);
  });

  describe("for connections", () => {
    let upper: Server;
    let port: number;
    before(async () => {
      upper = createTcpServer({ allowHalfOpen: true }, (socket) => {
        socket.on("error", () => {});
        socket.on("data", (bytes: Buffer) => socket.end(bytes.toString("latin1").toUpperCase()));
      }).listen(0, "127.0.0.1");
      await once(upper, "listening");
      ({ port } = upper.address() as AddressInfo);
    });
    after(() => void upper.close());

    it("forward() of the public SDK with proto tcp carries connections, with a PROXY header if configured", async () => {
      const url = await forward({ proto: "tcp" }, port);
      const said = async ({ port: at }: URL): Promise<string> => {
        const socket = await dialPort(Number(at));
        socket.write("hello");
        return (await readToEnd(socket)).text;
      };
      assert.equal(await said(url), "HELLO");
      assert.match(await said(await forward({ proto: "tcp", proxy_proto: "1" }, port)), /^PROXY TCP4 127\.0\.0\.1 /);
    });

    it("forward() of the public SDK with remote_addr has the address that it names", async () => {
      const { host } = await forward({ proto: "tcp" }, port);
      await sdk.ask({ name: "closeListener" });
      assert.equal((await forward({ proto: "tcp", remote_addr: host }, port)).host, host);
    });

    it("forward() of the public SDK with proto tcp refuses addresses in ip_restriction", async () => {
      const url = await forward({ proto: "tcp", ip_restriction_deny_cidrs: ["127.0.0.1/32"] }, port);
      const socket = await dialPort(Number(url.port));
      assert.equal((await readToEnd(socket)).text, "");
    });

    it("forward() of the public SDK with proto tls, crt and key has TLS ended under that certificate", async () => {
      const own = await createAuthority({ commonName: "Own", now: Date.now() });
      const leaf = await issueLeaf(own, {
        names: ["mail.apps.example.com"],
        usages: ["serverAuth"],
        now: Date.now(),
        days: 1,
      });
      const { hostname: servername } = await forward(
        {
          proto: "tls",
          domain: "mail.apps.example.com",
          crt: leaf.certificatePem,
          key: leaf.keyPem,
          terminate_at: "edge",
        },
        `tcp://127.0.0.1:${port}`,
      );
      const socket = connect({ host: "127.0.0.1", port: edge.edge.https.port, servername, ca: own.certificatePem });
      await once(socket, "secureConnect");
      socket.write("hello");
      assert.equal((await readToEnd(socket)).text, "HELLO");
    });
  });
});
