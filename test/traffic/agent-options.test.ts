/** Options of the public agent SDK that the edge implements: client certificates, TLS termination, PROXY headers. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { connect } from "node:tls";
import type { ConnectionOptions } from "node:tls";
import { errorCode } from "../../src/lib/errors.ts";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import type { KeyedCertificate } from "../../src/lib/certificates/x509.ts";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import { startSdk } from "../support/sdk-process.ts";
import type { SdkProcess } from "../support/sdk-process.ts";

const now = Date.now();
const clients = await createAuthority({ commonName: "Clients", now });
const own = await createAuthority({ commonName: "Own", now });
const issue = (authority: KeyedCertificate, name: string, usage: "clientAuth" | "serverAuth") =>
  issueLeaf(authority, { names: [name], usages: [usage], now, days: 1 });
const alice = await issue(clients, "alice.example", "clientAuth");
const mallory = await issue(own, "mallory.example", "clientAuth");

let fixture: EdgeWithAgent;
let sdk: SdkProcess;
let service: Server;
let target: number;
/** Bytes on the service's last connection. */
let arrived = "";
const sockets = new Set<Socket>();

before(async () => {
  fixture = await startEdgeWithAgent();
  sdk = await startSdk();
  const { port } = fixture.edge.edge.agent;
  await sdk.ask({ name: "connect", port, ca: fixture.edge.authority.certificatePem, token: fixture.token });
  service = createServer((socket) => {
    sockets.add(socket);
    arrived = "";
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      arrived += bytes.toString("latin1");
      if (arrived.endsWith("\r\n\r\n")) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      else if (arrived.endsWith("\n")) socket.end(`got ${arrived}`);
    });
  }).listen(0, "127.0.0.1");
  await once(service, "listening");
  target = (service.address() as AddressInfo).port;
});
after(async () => {
  await sdk.stop();
  for (const socket of sockets) socket.destroy();
  service.close();
  await fixture.stop();
});

/** Sends one line over TLS and reads to the end. */
async function sayLine(servername: string, options: ConnectionOptions): Promise<{ text: string; issuer: string }> {
  const socket = connect({ host: "127.0.0.1", port: fixture.edge.edge.https.port, servername, ...options });
  const failed = once(socket, "error").then(([error]) => Promise.reject(error as Error));
  failed.catch(() => {});
  await Promise.race([once(socket, "secureConnect"), failed]);
  const issuer = String(socket.getPeerX509Certificate()?.issuer);
  let text = "";
  socket.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  socket.write("hello\n");
  await Promise.race([once(socket, "end"), failed]);
  socket.destroy();
  // Node closes over a certificate that does not hold without an alert.
  if (text === "") throw new Error("closed without an answer");
  return { text, issuer };
}

const shown = ({ certificatePem, keyPem }: KeyedCertificate) => ({ cert: certificatePem, key: keyPem });

describe("an http endpoint of the public SDK", { timeout: 60_000 }, () => {
  it("K2: an http endpoint of the public SDK requires client certificates of its authorities, and receives the client's identity", async () => {
    await sdk.ask({
      name: "http",
      domain: "guarded.apps.example.com",
      clientAuthorities: clients.certificatePem,
      target,
    });
    for (const protocol of protocols) {
      const ask = (tls: ConnectionOptions) => fixture.ask(protocol, { host: "guarded.apps.example.com", tls });
      assert.equal((await ask(shown(alice))).status, 200);
      assert.match(arrived, /\r\nngrok-mtls-subject-cn: alice\.example\r\n/i);
      await assert.rejects(ask({}));
      await assert.rejects(ask(shown(mallory)));
    }
  });

  it("an http endpoint of the public SDK requires a user name and a password", async () => {
    const domain = "locked.apps.example.com";
    const credentials = [
      ["ann", "correct horse"],
      ["björn", "battery: staple"],
    ] as const;
    await sdk.ask({ name: "http", domain, credentials, target });
    const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;
    const ask = (protocol: (typeof protocols)[number], authorization?: string | readonly string[]) =>
      fixture.ask(protocol, { host: domain, ...(authorization && { headers: { authorization } }) });
    for (const protocol of protocols) {
      for (const right of [basic("ann:correct horse"), basic("björn:battery: staple").replace("Basic", "bAsIc")]) {
        assert.equal((await ask(protocol, right)).status, 200);
        assert.ok(arrived.includes(right), "the service sees what was shown");
      }
      for (const wrong of [
        undefined,
        basic("ann:battery: staple"),
        basic("ann:correct horse "),
        basic("ann"),
        basic(":correct horse"),
        basic(`ann:correct horse${"x".repeat(2000)}`),
        "Basic",
        "Basic !!!",
        `Bearer ${Buffer.from("ann:correct horse").toString("base64")}`,
      ]) {
        arrived = "";
        const { status, headers, body } = await ask(protocol, wrong);
        assert.equal(status, 401, String(wrong));
        assert.equal(headers["www-authenticate"], 'Basic realm="ngrok", charset="UTF-8"');
        assert.equal(headers["postern-error-code"], errorCode("basic_auth_required"));
        const { details, ...said } = JSON.parse(body.toString()) as { details: { fix: string } };
        assert.doesNotMatch(JSON.stringify(said) + details.fix, /ann|horse/);
        assert.equal(arrived, "");
      }
    }
    const twice = [basic("ann:correct horse"), basic("ann:wrong horse")];
    assert.notEqual((await ask("h1", twice)).status, 200);
  });

  it("an http endpoint of the public SDK receives the client's address in a PROXY header, version 1 or 2", async () => {
    for (const proxyProtocol of ["1", "2"] as const) {
      const domain = `proxied${proxyProtocol}.apps.example.com`;
      await sdk.ask({ name: "http", domain, proxyProtocol, target });
      assert.equal((await fixture.ask("h1", { host: domain, source: "127.0.0.7" })).status, 200);
      const start = proxyProtocol === "1" ? "PROXY TCP4 127.0.0.7 " : "\r\n\r\n\0\r\nQUIT\n\x21\x11";
      assert.ok(arrived.startsWith(start), JSON.stringify(arrived));
      assert.match(arrived, /GET \/ HTTP\/1\.1\r\n/);
    }
  });
});

describe("a tls endpoint of the public SDK", { timeout: 60_000 }, () => {
  it("a tls endpoint of the public SDK has its TLS ended at the edge, under the certificate that it sends", async () => {
    const name = "ended.apps.example.com";
    const { certificatePem, keyPem } = await issue(own, name, "serverAuth");
    await sdk.ask({ name: "tls", domain: name, termination: [certificatePem, keyPem], target });
    const { text, issuer } = await sayLine(name, { ca: own.certificatePem });
    assert.equal(text, "got hello\n");
    assert.equal(issuer, "CN=Own");
  });

  it("K2: a tls endpoint of the public SDK has clients show certificates where TLS is ended, and only there", async () => {
    const name = "both.apps.example.com";
    const { certificatePem, keyPem } = await issue(own, name, "serverAuth");
    const wanted = { name: "tls", domain: name, clientAuthorities: clients.certificatePem, target } as const;
    await assert.rejects(sdk.ask(wanted), /passes TLS through to the service/);
    await sdk.ask({ ...wanted, termination: [certificatePem, keyPem] });
    const ca = own.certificatePem;
    assert.equal((await sayLine(name, { ca, ...shown(alice) })).text, "got hello\n");
    await assert.rejects(sayLine(name, { ca }));
    await assert.rejects(sayLine(name, { ca, ...shown(mallory) }));
  });

  it("a tls endpoint of the public SDK is refused with a certificate that cannot be used, and the reason", async () => {
    const { certificatePem } = await issue(own, "a.example", "serverAuth");
    const { keyPem } = await issue(own, "b.example", "serverAuth");
    const ask = (termination: readonly [string, string]) => sdk.ask({ name: "tls", termination, target });
    await assert.rejects(ask([certificatePem, keyPem]), /"key" must be the certificate's/);
    await assert.rejects(ask(["nothing", keyPem]), /"cert" must hold a certificate/);
    await assert.rejects(ask([certificatePem, "nothing"]), /"key" must hold a private key/);
  });
});
