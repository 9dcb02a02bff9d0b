/** TLS edges: terminated here or passed through by server name, and whole connections to the service behind. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { Socket } from "node:net";
import { connect } from "node:tls";
import type { ConnectionOptions, TLSSocket } from "node:tls";
import { afterEach, describe, it } from "node:test";
import { createAuthority, createSelfSigned, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { dialPort, readToEnd } from "../support/connections.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import {
  certificateAuthority,
  connectionEdge,
  httpsEdge,
  newCredential,
  ipPolicy,
  ipRestriction,
} from "../support/objects.ts";
import { startTcpService } from "../support/services.ts";
import type { TcpService } from "../support/services.ts";

const host = "db.example.com";
const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const credential = newCredential();
const now = Date.now();
const clients = await createAuthority({ commonName: "Clients", now });
const alice = await issueLeaf(clients, { names: ["alice"], now, days: 1, usages: ["clientAuth"] });
const own = await createSelfSigned({ names: [host], now, days: 1 });

async function start(objects: Parameters<typeof startTestEdge>[0] = []): Promise<TestEdge> {
  const edge = await startTestEdge([credential.object, ...(objects ?? [])], { drainMs: 50 });
  stops.push(() => edge.edge.stop());
  return edge;
}

async function service(serve: (socket: Socket) => void, tls?: Parameters<typeof startTcpService>[1]) {
  const started = await startTcpService(serve, tls);
  stops.push(() => started.stop());
  return started;
}

async function agent(edge: TestEdge, { port }: TcpService): Promise<TestAgent> {
  const connected = await connectAgent(edge, credential.token, port, false);
  stops.push(() => connected.close());
  return connected;
}

/** A TLS connection to the edge; rejects when the handshake fails. */
async function open(edge: TestEdge, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const target: ConnectionOptions & { readonly allowHalfOpen: boolean } = {
    host: "127.0.0.1",
    port: edge.edge.https.port,
    servername: host,
    ca: edge.authority.certificatePem,
    allowHalfOpen: true,
    ...options,
  };
  const socket = connect(target);
  stops.push(() => socket.destroy());
  await once(socket, "secureConnect");
  return socket;
}

/** A ClientHello for `host`, as a client of ours sends it. */
async function clientHello(): Promise<Buffer> {
  const listener = await startTcpService(() => {});
  const client = connect({ host: "127.0.0.1", port: listener.port, servername: host });
  client.on("error", () => {});
  while (listener.connections.length === 0) await new Promise(setImmediate);
  const [bytes] = (await once(listener.connections[0] as Socket, "data")) as [Buffer];
  client.destroy();
  await listener.stop();
  return bytes;
}

const termination = (more: Record<string, unknown>) => ({
  tls_termination: { enabled: true, terminate_at: "edge", min_version: null, ...more },
});
const passthrough = termination({ terminate_at: "upstream" });

describe("a TLS edge that terminates TLS", { timeout: 30_000 }, () => {
  it("a TLS edge that terminates TLS presents its own certificate, and passes the decrypted bytes both ways, with half-closes", async () => {
    const edge = await start(connectionEdge("tls_edge", "db", [`${host}:443`]));
    const upstream = await service((socket) => {
      let text = "";
      socket.on("data", (bytes: Buffer) => (text += bytes.toString()));
      socket.on("end", () => socket.end(`got ${text}`));
    });
    await (await agent(edge, upstream)).label({ app: "db" });
    const client = await open(edge);
    assert.equal(client.authorized, true);
    const answer = readToEnd(client);
    client.end("question");
    assert.deepEqual(await answer, { text: "got question", error: undefined });
  });

  it("a TLS edge that terminates TLS selects no ALPN protocol, because it does not know the inner protocol", async () => {
    const edge = await start(connectionEdge("tls_edge", "db", [`${host}:443`]));
    const upstream = await service((socket) => socket.end("hello"));
    await (await agent(edge, upstream)).label({ app: "db" });
    const client = await open(edge, { ALPNProtocols: ["h2", "postgresql"] });
    assert.equal(client.alpnProtocol, false);
    assert.equal((await readToEnd(client)).text, "hello");
  });

  it("K1: a TLS edge that terminates TLS holds its own minimum version", async () => {
    const edge = await start([
      ...connectionEdge("tls_edge", "db", [`${host}:443`], termination({ min_version: "1.3" })),
    ]);
    const upstream = await service((socket) => socket.end("hello"));
    await (await agent(edge, upstream)).label({ app: "db" });
    await assert.rejects(open(edge, { maxVersion: "TLSv1.2" }));
    assert.equal((await open(edge)).getProtocol(), "TLSv1.3");
  });

  it("R2, K2: a TLS edge that terminates TLS demands a client certificate of its authorities", async () => {
    const edge = await start([
      certificateAuthority("ca_1", clients.certificatePem),
      ...connectionEdge("tls_edge", "db", [`${host}:443`], {
        mutual_tls: { enabled: true, certificate_authority_ids: ["ca_1"] },
      }),
    ]);
    const upstream = await service((socket) => socket.end("secret"));
    await (await agent(edge, upstream)).label({ app: "db" });
    const anonymous = await open(edge).then(readToEnd, () => ({ text: "" }));
    assert.equal(anonymous.text, "");
    assert.equal(upstream.connections.length, 0);
    const known = await open(edge, { cert: alice.certificatePem, key: alice.keyPem });
    assert.equal((await readToEnd(known)).text, "secret");
  });

  it("R4: a TLS edge that terminates TLS closes denied sources before anything is answered, not even a TLS alert", async () => {
    const others = ipPolicy("ipp_others", { "192.0.2.0/24": "allow" });
    const edge = await start([
      ...others,
      ...connectionEdge("tls_edge", "db", [`${host}:443`], { ip_restriction: ipRestriction("ipp_others") }),
    ]);
    const socket = await dialPort(edge.edge.https.port);
    stops.push(() => socket.destroy());
    socket.write(await clientHello());
    assert.equal((await readToEnd(socket)).text, "");
  });
});

describe("a TLS edge that passes TLS through", { timeout: 30_000 }, () => {
  it("K3: a TLS edge that passes TLS through leaves the handshake to the service: clients see the service's certificate and protocols", async () => {
    const edge = await start(connectionEdge("tls_edge", "db", [`${host}:443`], passthrough));
    const upstream = await service(
      (socket) => socket.end(`for ${(socket as TLSSocket & { servername: string }).servername}`),
      {
        cert: own.certificatePem,
        key: own.keyPem,
        ALPNProtocols: ["postgresql"],
      },
    );
    await (await agent(edge, upstream)).label({ app: "db" });
    const client = await open(edge, {
      ca: own.certificatePem,
      checkServerIdentity: () => undefined,
      ALPNProtocols: ["postgresql"],
    });
    assert.equal(
      client.getPeerX509Certificate()?.fingerprint256,
      new X509Certificate(own.certificatePem).fingerprint256,
    );
    assert.equal(client.alpnProtocol, "postgresql");
    assert.equal((await readToEnd(client)).text, `for ${host}`);
  });

  it("K3: a TLS edge that passes TLS through hands on exactly the bytes that came, however they were cut", async () => {
    const edge = await start(connectionEdge("tls_edge", "db", [`${host}:443`], passthrough));
    const seen = Promise.withResolvers<Buffer>();
    const upstream = await service((socket) => {
      let all = Buffer.alloc(0);
      socket.on("data", (bytes: Buffer) => (all = Buffer.concat([all, bytes])));
      socket.on("end", () => seen.resolve(all));
    });
    await (await agent(edge, upstream)).label({ app: "db" });
    const hello = await clientHello();
    const socket = await dialPort(edge.edge.https.port);
    stops.push(() => socket.destroy());
    for (let at = 0; at < hello.length; at += 100) {
      socket.write(hello.subarray(at, at + 100));
      await new Promise(setImmediate);
    }
    socket.end("and more");
    assert.deepEqual(await seen.promise, Buffer.concat([hello, Buffer.from("and more")]));
  });

  it("R4: a TLS edge that passes TLS through closes denied sources without a byte", async () => {
    const others = ipPolicy("ipp_others", { "127.0.0.1/32": "deny", "0.0.0.0/0": "allow" });
    const edge = await start([
      ...others,
      ...connectionEdge("tls_edge", "db", [`${host}:443`], {
        ...passthrough,
        ip_restriction: ipRestriction("ipp_others"),
      }),
    ]);
    const upstream = await service(() => {});
    await (await agent(edge, upstream)).label({ app: "db" });
    const socket = await dialPort(edge.edge.https.port);
    stops.push(() => socket.destroy());
    socket.write(await clientHello());
    assert.equal((await readToEnd(socket)).text, "");
    assert.equal(upstream.connections.length, 0);
  });

  it("a TLS edge that passes TLS through becomes a terminating one, and another name's HTTPS edge does not notice", async () => {
    const [backend, db] = connectionEdge("tls_edge", "db", [`${host}:443`], passthrough);
    const edge = await start([backend as never, db as never, ...httpsEdge("shop", ["shop.example.com"])]);
    const upstream = await service((socket) => socket.end("plain"));
    await (await agent(edge, upstream)).label({ app: "db" });
    assert.equal((await edge.ask("h1", { host: "shop.example.com" })).status, 503);
    edge.put({ ...(db as NonNullable<typeof db>), doc: { ...db?.doc, ...termination({}) } });
    assert.equal((await readToEnd(await open(edge))).text, "plain");
    assert.equal((await edge.ask("h1", { host: "shop.example.com" })).status, 503);
  });
});

describe("an agent's tls endpoint", { timeout: 30_000 }, () => {
  it("an agent's tls endpoint is passed through by its name, under the server's domain or its own", async () => {
    const edge = await start();
    const upstream = await service((socket) => socket.end("hello"), { cert: own.certificatePem, key: own.keyPem });
    const connected = await agent(edge, upstream);
    const made = await connected.bind({ proto: "tls" });
    assert.match(made.url, /^tls:\/\/[a-z0-9-]+\.apps\.example\.com:\d+$/);
    const chosen = await connected.bind({ proto: "tls", hostname: host });
    assert.equal(chosen.url, `tls://${host}:${edge.edge.https.port}`);
    for (const servername of [made.hostname, host]) {
      const client = await open(edge, { servername, ca: own.certificatePem, checkServerIdentity: () => undefined });
      assert.equal((await readToEnd(client)).text, "hello");
    }
    const report = await edge.report((message) => message.type === "tunnel_opened" && message.tunnel.id === chosen.id);
    assert.ok(report.type === "tunnel_opened");
    assert.equal(report.tunnel.endpoint?.proto, "tls");
    await connected.session.unbind(chosen.id);
    await assert.rejects(open(edge));
  });

  it("R5: an agent's tls endpoint is not taken over by a wildcard edge, and yields to an edge with exactly its name", async () => {
    const edge = await start(httpsEdge("wild", ["*.example.com"]));
    const upstream = await service((socket) => socket.end("hello"), { cert: own.certificatePem, key: own.keyPem });
    const connected = await agent(edge, upstream);
    await connected.bind({ proto: "tls", hostname: host });
    const client = await open(edge, { ca: own.certificatePem, checkServerIdentity: () => undefined });
    assert.equal((await readToEnd(client)).text, "hello");
    const exact = httpsEdge("exact", [host]);
    for (const object of exact) edge.put(object);
    assert.equal((await edge.ask("h1", { host: host })).status, 503);
  });
});
