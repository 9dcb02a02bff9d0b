/** tcp and tls tunnels on the whole platform: our agent and the public SDK, addresses that stay, and reports. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import type { Server, Socket } from "node:net";
import { connect } from "node:tls";
import { after, before, describe, it } from "node:test";
import { parseTcpUpstream } from "../../src/agent/upstream.ts";
import { createSelfSigned } from "../../src/lib/certificates/x509.ts";
import { dialPort, portIs, readToEnd, visit } from "../support/connections.ts";
import type { OurAgent } from "../support/our-agent.ts";
import { startTcpService } from "../support/services.ts";
import type { TcpService } from "../support/services.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startSdk } from "../support/sdk-process.ts";

const own = await createSelfSigned({ names: ["mail.example.com"], now: Date.now(), days: 1 });

function upper(socket: Socket): void {
  socket.on("data", (bytes: Buffer) => socket.write(bytes.toString().toUpperCase()));
  socket.on("end", () => socket.end("."));
}

/** Something else that listens there, once nothing does, on all addresses. */
async function holdPort(port: number): Promise<Server> {
  for (;;) {
    const holder = createServer().listen(port, "0.0.0.0");
    const isListening = once(holder, "listening").then(
      () => true,
      () => false,
    );
    if (await isListening) return holder;
  }
}

describe("tcp and tls tunnels", { timeout: 60_000 }, () => {
  let platform: TestPlatform;
  let service: TcpService;
  let secure: TcpService;
  const stops: (() => unknown)[] = [];

  before(async () => {
    platform = await startPlatform({ drainMs: 50 });
    service = await startTcpService(upper);
    secure = await startTcpService(upper, { cert: own.certificatePem, key: own.keyPem });
  });
  after(async () => {
    for (const stop of stops) await stop();
    await platform.stop();
    await service.stop();
    await secure.stop();
  });

  const tcpAgent = async (url?: string, more: Parameters<TestPlatform["startAgent"]>[0]["tunnel"] = {}) => {
    const upstream = parseTcpUpstream(`127.0.0.1:${service.port}`, "tcp");
    const given = { upstream: service.port, ...(url === undefined ? {} : { url }) };
    return platform.startAgent({ ...given, tunnel: { proto: "tcp", upstream, ...more } });
  };
  const portOf = (url: string): number => Number(/^tcp:\/\/localhost:(\d+)$/.exec(url)?.[1]);
  /** The response that a TLS client with `servername` gets for `text`. */
  const visitTls = async (servername: string, text: string): Promise<string> => {
    const target = {
      host: "127.0.0.1",
      port: platform.httpsPort,
      servername,
      ca: own.certificatePem,
      checkServerIdentity: () => undefined,
      allowHalfOpen: true,
    };
    const socket = connect(target);
    await once(socket, "secureConnect");
    socket.end(text);
    return (await readToEnd(socket)).text;
  };
  const ask = async (port: number, text: string): Promise<string> => {
    const socket = await dialPort(port);
    socket.end(text);
    return (await readToEnd(socket)).text;
  };

  it("tcp and tls tunnels publish a port of the range, which is reported, closed with the agent, and the same the next time", async () => {
    const first = await tcpAgent();
    const port = portOf(first.url);
    assert.ok(port >= 20_000 && port <= 29_999, first.url);
    assert.equal(await ask(port, "hello"), "HELLO.");
    const { tunnels } = (await platform.api("GET", "/tunnels")).body;
    const tunnel = tunnels.find((one: { public_url: string }) => one.public_url === first.url);
    assert.equal(tunnel.proto, "tcp");
    assert.equal(tunnel.forwards_to, `tcp://127.0.0.1:${service.port}`);
    const { endpoints } = (await platform.api("GET", "/endpoints")).body;
    const endpoint = endpoints.find((one: { public_url: string }) => one.public_url === first.url);
    assert.deepEqual([endpoint.proto, endpoint.hostport, endpoint.port], ["tcp", `localhost:${port}`, port]);
    await first.close();
    await portIs("closed", port);
    const second = await tcpAgent();
    assert.equal(second.url, first.url);
    await second.close();
  });

  it("tcp and tls tunnels are cut off when the agent stops", async () => {
    const agent = await tcpAgent();
    const port = portOf(agent.url);
    const client = await dialPort(port);
    client.write("hello");
    await once(client, "data");
    const cut = readToEnd(client);
    await agent.close();
    assert.equal((await cut).error, "ECONNRESET");
    await portIs("closed", port);
  });

  it("tcp and tls tunnels keep their address across a restart of the server", async () => {
    const agent = await tcpAgent();
    const before = agent.url;
    await platform.restart();
    await portIs("open", portOf(before));
    assert.equal(await ask(portOf(before), "again"), "AGAIN.");
    assert.equal(agent.url, before);
    await agent.close();
  });

  it("tcp and tls tunnels are published at addresses that their account has reserved, and at no other account's", async () => {
    const { body } = await platform.api("POST", "/reserved_addrs", {});
    const agent = await tcpAgent(`tcp://${body.addr}`);
    assert.equal(agent.url, `tcp://${body.addr}`);
    assert.equal(await ask(portOf(agent.url), "mine"), "MINE.");
    await agent.close();
    await assert.rejects(tcpAgent("tcp://localhost:22"), /refused|name_taken/);
    await assert.rejects(tcpAgent("tcp://elsewhere.example.com:20001"), /addresses are localhost with a port from/);
  });

  it("tcp and tls tunnels give way to a TCP edge that is given their port, and are refused while it has it", async () => {
    const agent = await tcpAgent();
    const port = portOf(agent.url);
    const { body: edge } = await platform.api("POST", "/edges/tcp", { hostports: [`localhost:${port}`] });
    assert.equal((await agent.ended).reason, "name_taken");
    await assert.rejects(tcpAgent(agent.url), /name_taken.*serves it/);
    await platform.api("DELETE", `/edges/tcp/${edge.id}`);
    await portIs("closed", port);
  });

  it("tcp and tls tunnels avoid ports that something else listens on", async () => {
    const agent = await tcpAgent();
    const port = portOf(agent.url);
    await agent.close();
    await portIs("closed", port);
    const holder = await holdPort(port);
    // By the answer to its request, where that had to wait for other servers; else once it was open.
    const told = await tcpAgent().then(
      ({ ended }) => ended,
      (error: Error) => error,
    );
    assert.match(told.message, new RegExp(`listen on port ${port}: another program on the server uses the port`));
    let next: OurAgent | undefined;
    // Other servers learn of it after a short time.
    while (!next) next = await tcpAgent().catch(() => undefined);
    assert.notEqual(portOf(next.url), port);
    assert.equal(await ask(portOf(next.url), "there"), "THERE.");
    await next.close();
    await new Promise((done) => holder.close(done));
  });

  it("tcp and tls tunnels carry labels to TCP edges, with a PROXY header if requested", async () => {
    const { body: backend } = await platform.api("POST", "/backends/tunnel_group", { labels: { app: "db" } });
    const { body: address } = await platform.api("POST", "/reserved_addrs", {});
    const { body: edge } = await platform.api("POST", "/edges/tcp", {
      hostports: [address.addr],
      backend: { backend_id: backend.id },
    });
    const upstream = parseTcpUpstream(`127.0.0.1:${service.port}`, "tcp");
    const tunnel = { proto: "tcp", upstream, proxyProtocol: 1 } as const;
    const labelled = await platform.startAgent({ upstream: service.port, labels: { app: "db" }, tunnel });
    const port = portOf(`tcp://${address.addr}`);
    await portIs("open", port);
    assert.match(await ask(port, "hello"), new RegExp(`^PROXY TCP4 127.0.0.1 127.0.0.1 \\d+ ${port}\r\nHELLO.$`));
    const { endpoints } = (await platform.api("GET", "/endpoints")).body;
    assert.ok(endpoints.some((one: { public_url: string }) => one.public_url === `tcp://${address.addr}`));
    await labelled.close();
    assert.equal((await visit(port)).text, "");
    await platform.api("DELETE", `/edges/tcp/${edge.id}`);
    await portIs("closed", port);
  });

  it("tcp and tls tunnels pass TLS through by name, and are reported as tls", async () => {
    const upstream = parseTcpUpstream(`127.0.0.1:${secure.port}`, "tls");
    const agent = await platform.startAgent({
      upstream: secure.port,
      url: "tls://mail.example.com",
      tunnel: { proto: "tls", upstream },
    });
    assert.equal(agent.url, `tls://mail.example.com:${platform.httpsPort}`);
    assert.equal(await visitTls("mail.example.com", "hello"), "HELLO.");
    const { tunnels } = (await platform.api("GET", "/tunnels")).body;
    assert.equal(tunnels.find((one: { public_url: string }) => one.public_url === agent.url).proto, "tls");
    await agent.close();
  });

  it("tcp and tls tunnels work with the public SDK, tcp and tls, until it closes its listener", async () => {
    const sdk = await startSdk();
    stops.push(() => sdk.stop());
    await sdk.ask({ name: "connect", port: platform.agentPort, ca: platform.caPem, token: platform.authtoken });
    const { url: tcpUrl } = await sdk.ask({ name: "tcp" });
    assert.equal(await ask(portOf(tcpUrl as string), "echoed"), "echoed");
    const { url: tlsUrl } = await sdk.ask({ name: "tls", domain: "mail.example.com", target: secure.port });
    assert.equal(tlsUrl, `tls://mail.example.com:${platform.httpsPort}`);
    assert.equal(await visitTls("mail.example.com", "hello"), "HELLO.");
    await sdk.ask({ name: "closeListener" });
    await assert.rejects(visitTls("mail.example.com", "hello"));
    assert.equal(await ask(portOf(tcpUrl as string), "still"), "still");
  });
});
