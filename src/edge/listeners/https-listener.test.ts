import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect as connectTcp, createServer } from "node:net";
import type { Socket } from "node:net";
import { after, describe, it } from "node:test";
import { connect } from "node:tls";
import type { ConnectionOptions, TLSSocket } from "node:tls";
import { setImmediate as turn } from "node:timers/promises";
import { captureHello } from "../../../test/support/client-hello.ts";
import { makeManualClock } from "../../../test/support/clock.ts";
import { weakCertificate } from "../../../test/support/weak-certificate.ts";
import { Deadlines } from "../../lib/deadlines.ts";
import { silentLog } from "../../lib/log.ts";
import { makeMetrics } from "../../lib/metrics.ts";
import { createAuthority, createSelfSigned, issueLeaf } from "../../lib/certificates/x509.ts";
import type { KeyedCertificate } from "../../lib/certificates/x509.ts";
import type { ConnectionFacts } from "../../traffic/connection-facts.ts";
import type { Handshake } from "../../traffic/handshake.ts";
import type { Site } from "../../routing/sites/compiled-site.ts";
import { makeAcmeChallenges } from "../tls/acme-challenges.ts";
import { makeCertificates } from "../tls/certificates.ts";
import { startHttpsListener } from "./https-listener.ts";
import { defaultListenerLimits } from "./listener-limits.ts";
import { makeTlsContexts } from "../tls/contexts.ts";
import { makeTicketSecret } from "../tls/ticket-secret.ts";

const now = Date.now();
const authority = await createAuthority({ commonName: "Own", now });
const clients = await createAuthority({ commonName: "Clients", now });
const otherClients = await createAuthority({ commonName: "Other clients", now });
const alice = await issueLeaf(clients, { names: ["alice"], now, days: 1, usages: ["clientAuth"] });

const stops: (() => void)[] = [];
after(() => {
  for (const stop of stops) stop();
});

function site(id: string, hosts: readonly string[], handshake: Handshake = {}, accountId = "ac_1"): Site {
  return {
    kind: "https_edge",
    id,
    accountId,
    revision: 1,
    hosts,
    handshake,
    problem: undefined,
    findRoute: () => undefined,
    advertises: () => false,
  };
}

interface Client {
  readonly socket: TLSSocket;
  /** Facts and protocol that the listener passed on. */
  readonly served: { facts: ConnectionFacts; protocol: string };
}

/** A listener that sends clients its facts about them. `sites` may be changed while it runs. */
async function start(sites: Map<string, Site>, limits = {}, proxies: readonly string[] = []) {
  const clock = makeManualClock(now);
  const metrics = makeMetrics();
  const certificates = makeCertificates({
    authority,
    maxLeaves: 100,
    domain: "apps.example.com",
    serverAccount: () => undefined,
    clock,
    log: silentLog,
  });
  const challenges = makeAcmeChallenges(silentLog);
  const listener = await startHttpsListener({
    at: { host: "127.0.0.1", port: 0 },
    ready: Promise.resolve(),
    siteFor: (host) => sites.get(host),
    choose: (site) => site,
    connections: { admits: () => false, serve: (socket) => socket.destroy() },
    certificates,
    tickets: makeTicketSecret(clock),
    challenges,
    protocols: ["h2", "http/1.1"],
    proxies,
    limits: { ...defaultListenerLimits, ...limits },
    clock,
    deadlines: new Deadlines(clock),
    log: silentLog,
    metrics,
    serve: (socket, facts, protocol) => {
      socket.on("error", () => undefined);
      if (facts.tls?.serverName === "held.example.com") {
        socket.resume().on("end", () => socket.end());
        return;
      }
      socket.end(JSON.stringify({ facts, protocol }));
    },
  });
  stops.push(() => listener.destroy());
  const open = async (servername: string, options: ConnectionOptions = {}): Promise<Client> => {
    const socket = connect({
      port: listener.port,
      host: "127.0.0.1",
      servername,
      ca: authority.certificatePem,
      ...options,
    });
    stops.push(() => socket.destroy());
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    const failed = new Promise<never>((_, reject) => socket.on("error", reject));
    failed.catch(() => undefined);
    await Promise.race([failed, once(socket, "end")]);
    if (text === "") throw new Error("closed without an answer");
    return { socket, served: JSON.parse(text) as Client["served"] };
  };
  const openTcp = async (): Promise<Socket> => {
    const socket = connectTcp({ port: listener.port, host: "127.0.0.1" });
    stops.push(() => socket.destroy());
    await once(socket, "connect");
    // A refused connection may be reset.
    socket.on("error", () => undefined);
    return socket;
  };
  return { clock, metrics, certificates, challenges, listener, open, openTcp };
}

const shop = site("edghts_shop", ["shop.example.com"]);
const strict = site("edghts_strict", ["strict.example.com"], { minVersion: "TLSv1.3" });
const guarded = site("edghts_guarded", ["guarded.example.com"], { clientAuthorities: clients.certificatePem });
const wild = site("edghts_wild", ["*.wild.example.com"]);
const sites = (): Map<string, Site> =>
  new Map([
    ["shop.example.com", shop],
    ["strict.example.com", strict],
    ["guarded.example.com", guarded],
    ["a.wild.example.com", wild],
    ["b.a.wild.example.com", wild],
    ["x.apps.example.com", site("ep_x", ["x.apps.example.com"])],
  ]);
const edge = await start(sites());

function peerNames(client: Client): string | undefined {
  return client.socket.getPeerX509Certificate()?.subjectAltName;
}

describe("the HTTPS listener", () => {
  it("the HTTPS listener passes on the connection with the results of the handshake", async () => {
    const { served } = await edge.open("shop.example.com", { ALPNProtocols: ["h2", "http/1.1"] });
    assert.equal(served.protocol, "h2");
    assert.equal(served.facts.source, "127.0.0.1");
    assert.equal(served.facts.startedAt, now);
    assert.equal(served.facts.localPort, edge.listener.port);
    assert.equal(served.facts.tls?.serverName, "shop.example.com");
    assert.equal(served.facts.tls?.version, "TLSv1.3");
    assert.equal(served.facts.tls?.cipher, "TLS_AES_128_GCM_SHA256");
    const plain = await edge.open("SHOP.example.com", { checkServerIdentity: () => undefined });
    assert.equal(plain.served.protocol, "http/1.1");
    assert.equal(plain.served.facts.tls?.serverName, "shop.example.com");
  });

  it("the HTTPS listener rejects clients without a common protocol", async () => {
    await assert.rejects(edge.open("shop.example.com", { ALPNProtocols: ["spdy/3"] }), /no application protocol/i);
  });

  it("K1: the HTTPS listener enforces the minimum version of each site", async () => {
    const old: ConnectionOptions = { maxVersion: "TLSv1.2" };
    assert.equal((await edge.open("shop.example.com", old)).served.facts.tls?.version, "TLSv1.2");
    await assert.rejects(edge.open("strict.example.com", old), /protocol version/);
    assert.equal((await edge.open("strict.example.com")).served.facts.tls?.version, "TLSv1.3");
  });

  it("K1: the HTTPS listener rejects TLS 1.1 and ciphers without forward secrecy or authentication", async () => {
    const ancient: ConnectionOptions = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "ALL:@SECLEVEL=0" };
    await assert.rejects(edge.open("shop.example.com", ancient), /protocol version/);
    for (const ciphers of [
      "AES128-GCM-SHA256",
      "ECDHE-ECDSA-AES128-SHA256",
      "ECDHE-ECDSA-AES256-SHA",
      "ECDHE-ECDSA-AES128-CCM8",
    ]) {
      const weak: ConnectionOptions = { maxVersion: "TLSv1.2", ciphers: `${ciphers}:@SECLEVEL=0` };
      await assert.rejects(edge.open("shop.example.com", weak), /handshake failure/, ciphers);
    }
  });

  it("K1: the HTTPS listener never uses a certificate whose key has less than 112 bits of strength", () => {
    const contexts = makeTlsContexts("https", ["h2"], makeTicketSecret(makeManualClock(now)), 10);
    const certificate = { id: "cert_weak", ...weakCertificate, notAfter: Infinity };
    assert.throws(() => contexts.handshaker("edghts_1", {}, certificate), /key too small/);
  });

  it("K1: the HTTPS listener does not renegotiate", async () => {
    const own = await start(new Map([["held.example.com", site("edghts_held", ["held.example.com"])]]));
    const socket = connect({
      port: own.listener.port,
      host: "127.0.0.1",
      servername: "held.example.com",
      ca: authority.certificatePem,
      maxVersion: "TLSv1.2",
    });
    await once(socket, "secureConnect");
    const failure = new Promise((resolve) => {
      socket.on("error", resolve);
      socket.renegotiate({}, resolve);
    });
    assert.match(String(await failure), /no renegotiation/i);
    socket.destroy();
  });

  it("K2: the HTTPS listener requests a client certificate if the site demands one, and passes on the verified one", async () => {
    const { served } = await edge.open("guarded.example.com", { cert: alice.certificatePem, key: alice.keyPem });
    const { clientCertificate } = served.facts.tls as unknown as { clientCertificate: { data: number[] } };
    assert.equal(new X509Certificate(Buffer.from(clientCertificate.data)).subject, "CN=alice");
    const elsewhere = await edge.open("shop.example.com", { cert: alice.certificatePem, key: alice.keyPem });
    assert.equal(elsewhere.served.facts.tls?.clientCertificate, undefined);
  });

  it("K2: the HTTPS listener accepts no other client certificate in the handshake", async () => {
    const issue = (from: KeyedCertificate, more: object) =>
      issueLeaf(from, { names: ["mallory"], now, days: 1, usages: ["clientAuth"], ...more });
    const refused: Record<string, KeyedCertificate | undefined> = {
      none: undefined,
      "of another authority": await issue(otherClients, {}),
      "self-signed": await createSelfSigned({ names: ["mallory"], now, days: 1, usages: ["clientAuth"] }),
      expired: await issue(clients, { now: now - 3 * 86_400_000 }),
      "not yet valid": await issue(clients, { now: now + 3 * 86_400_000 }),
      "for servers": await issue(clients, { usages: ["serverAuth"] }),
    };
    for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
      for (const [what, certificate] of Object.entries(refused)) {
        const shown = certificate && { cert: certificate.certificatePem, key: certificate.keyPem };
        await assert.rejects(
          edge.open("guarded.example.com", { ...shown, maxVersion }),
          Error,
          `${what}, ${maxVersion}`,
        );
      }
    }
  });

  it("K2: the HTTPS listener disables only the site whose authorities are invalid", async () => {
    const held = sites();
    const own = await start(held);
    for (const clientAuthorities of ["", "nothing", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]) {
      held.set("guarded.example.com", { ...guarded, handshake: { clientAuthorities } });
      await assert.rejects(own.open("guarded.example.com"), /alert internal error/);
      await own.open("shop.example.com");
    }
  });

  for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
    it(`K2: the HTTPS listener resumes sessions within a site and never across sites (${maxVersion})`, async () => {
      const held = sites().set("twin.example.com", site("edghts_twin", ["twin.example.com"]));
      const own = await start(held);
      const first = await own.open("shop.example.com", { maxVersion });
      const session = first.socket.getSession() as Buffer;
      const again = await own.open("shop.example.com", { maxVersion, session });
      assert.equal(again.socket.isSessionReused(), true);
      const other = await own.open("twin.example.com", { maxVersion, session });
      assert.equal(other.socket.isSessionReused(), false);
      held.set("shop.example.com", { ...shop, handshake: { minVersion: "TLSv1.2" } });
      const changed = await own.open("shop.example.com", { maxVersion, session });
      assert.equal(changed.socket.isSessionReused(), false);
    });

    it(`K2: the HTTPS listener does not resume if client certificates are required (${maxVersion})`, async () => {
      const held = sites();
      const own = await start(held);
      const shown = { cert: alice.certificatePem, key: alice.keyPem, maxVersion };
      const first = await own.open("guarded.example.com", shown);
      const session = first.socket.getSession() as Buffer;
      const again = await own.open("guarded.example.com", { ...shown, session });
      assert.equal(again.socket.isSessionReused(), false);
      held.set("guarded.example.com", { ...guarded, handshake: { clientAuthorities: otherClients.certificatePem } });
      await assert.rejects(own.open("guarded.example.com", { ...shown, session }));
      await assert.rejects(own.open("guarded.example.com", { maxVersion, session }));
    });
  }

  it("K1: the HTTPS listener rejects old session tickets after some hours", async () => {
    const own = await start(sites());
    const first = await own.open("shop.example.com");
    const session = first.socket.getSession() as Buffer;
    own.clock.pass(8 * 60 * 60 * 1000);
    const later = await own.open("shop.example.com", { session });
    assert.equal(later.socket.isSessionReused(), false);
    const fresh = later.socket.getSession() as Buffer;
    assert.equal((await own.open("shop.example.com", { session: fresh })).socket.isSessionReused(), true);
  });

  it("K2: the HTTPS listener aborts a handshake whose site was changed meanwhile", async () => {
    const held = sites();
    const own = await start(held);
    const client = connect({
      port: own.listener.port,
      host: "127.0.0.1",
      servername: "shop.example.com",
      ca: authority.certificatePem,
    });
    let answered = false;
    client.on("data", () => (answered = true));
    client.on("error", () => undefined);
    client.on("secureConnect", () => undefined);
    // The server's part ends when the client's Finished arrives, so the site is changed before that.
    await once(client, "connect");
    client.once("keylog", () =>
      held.set("shop.example.com", { ...shop, handshake: { clientAuthorities: clients.certificatePem } }),
    );
    await once(client, "close");
    assert.equal(answered, false);
    assert.match(own.metrics.render(), /postern_tls_handshakes_total\{result="outdated"\} 1/);
  });

  it("the HTTPS listener uses a certificate per site, and a wildcard certificate for a wildcard", async () => {
    assert.equal(peerNames(await edge.open("shop.example.com")), "DNS:shop.example.com");
    assert.equal(peerNames(await edge.open("a.wild.example.com")), "DNS:*.wild.example.com");
    assert.equal(peerNames(await edge.open("b.a.wild.example.com")), "DNS:b.a.wild.example.com");
    assert.equal(peerNames(await edge.open("x.apps.example.com")), "DNS:x.apps.example.com");
  });

  it("the HTTPS listener has certificates for unused names under its domain, so that a page can show the error", async () => {
    const { served, ...client } = await edge.open("gone.apps.example.com");
    assert.equal(served.facts.tls?.serverName, "gone.apps.example.com");
    assert.equal(peerNames({ served, ...client }), "DNS:*.apps.example.com, DNS:apps.example.com");
    assert.equal(peerNames(await edge.open("a.b.apps.example.com")), "DNS:a.b.apps.example.com");
    const nameless = await edge.open("", { checkServerIdentity: () => undefined });
    assert.equal(nameless.served.facts.tls?.serverName, "");
  });

  it("the HTTPS listener rejects other names with the alert unrecognized_name", async () => {
    await assert.rejects(edge.open("elsewhere.example.org"), /unrecognized name/);
    await assert.rejects(edge.open("notapps.example.com"), /unrecognized name/);
  });

  it("the HTTPS listener issues a limited number of certificates for unused names", async () => {
    const own = await start(sites());
    const asked = Array.from({ length: 60 }, (_, at) =>
      own.open(`n${at}.deep.apps.example.com`).then(
        () => "shown",
        () => "refused",
      ),
    );
    const results = await Promise.all(asked);
    assert.equal(results.filter((result) => result === "shown").length, 50);
    await own.open("shop.example.com");
    own.clock.pass(1000);
    await own.open("n59.deep.apps.example.com");
  });

  it("K3: the HTTPS listener drops connections without a ClientHello in time", async () => {
    const own = await start(sites());
    const silent = await own.openTcp();
    const partial = await own.openTcp();
    partial.write(Buffer.from([22, 3, 1, 2, 0, 1]));
    const closed = Promise.all([closeOf(silent), closeOf(partial)]);
    while (own.listener.open < 2) await turn();
    own.clock.pass(5000);
    await closed;
    assert.match(own.metrics.render(), /postern_tls_handshakes_total\{result="timeout"\} 2/);
  });

  it("D2: the HTTPS listener drops handshakes that do not end in time", async () => {
    const own = await start(sites());
    const client = await own.openTcp();
    client.write(await captureHello({ servername: "shop.example.com" }));
    await once(client, "data");
    own.clock.pass(defaultListenerLimits.handshakeTimeoutMs);
    await closeOf(client);
    assert.match(own.metrics.render(), /postern_tls_handshakes_total\{result="timeout"\} 1/);
    assert.match(own.metrics.render(), /postern_connections_open\{listener="https"\} 0/);
  });

  it("D2: the HTTPS listener drops handshakes of certificate authorities that do not end in time", async () => {
    const own = await start(sites());
    const shown = await createSelfSigned({ names: ["new.example.com"], now, days: 1 });
    const doc = {
      domain: "new.example.com",
      token: "token",
      key_authorization: "token.thumb",
      certificate_pem: shown.certificatePem,
      private_key_pem: shown.keyPem,
    };
    own.challenges.load([{ kind: "acme_challenge", id: "acmechl_1", account_id: "ac_1", revision: 1, doc }]);
    const authority = await own.openTcp();
    authority.write(await captureHello({ servername: "new.example.com", ALPNProtocols: ["acme-tls/1"] }));
    await once(authority, "data");
    own.clock.pass(defaultListenerLimits.handshakeTimeoutMs);
    await closeOf(authority);
    assert.match(own.metrics.render(), /postern_connections_open\{listener="https"\} 0/);
  });

  it("the HTTPS listener completes a handshake whose ClientHello arrives in single bytes", async () => {
    const own = await start(sites());
    // A relay that forwards the client's first flight byte by byte.
    const relay = createServer((socket) => {
      const onward = connectTcp({ port: own.listener.port, host: "127.0.0.1", noDelay: true });
      onward.pipe(socket);
      socket.once("data", (hello: Buffer) => {
        socket.pause();
        void (async () => {
          for (const byte of hello) {
            onward.write(Buffer.from([byte]));
            await turn();
          }
          socket.pipe(onward);
        })();
      });
    });
    relay.listen(0, "127.0.0.1");
    await once(relay, "listening");
    stops.push(() => relay.close());
    const { port } = relay.address() as { port: number };
    const { served } = await own.open("shop.example.com", { port });
    assert.equal(served.facts.tls?.serverName, "shop.example.com");
  });

  it("the HTTPS listener survives data sent directly after a ClientHello that fails the handshake", async () => {
    const own = await start(sites());
    const hello = await captureHello({ servername: "shop.example.com", ALPNProtocols: ["unheard"] });
    const client = await own.openTcp();
    const closed = closeOf(client);
    client.write(Buffer.concat([hello, Buffer.alloc(4096)]));
    client.resume();
    await closed;
    assert.match(own.metrics.render(), /postern_tls_handshakes_total\{result="failed"\} 1/);
    const { served } = await own.open("shop.example.com");
    assert.equal(served.facts.tls?.serverName, "shop.example.com");
  });

  it("the HTTPS listener rejects other protocols with an alert, and plain HTTP with status 400", async () => {
    const garbage = await edge.openTcp();
    garbage.write("\x00\x01\x02 nothing");
    const [alert] = (await once(garbage, "data")) as [Buffer];
    assert.deepEqual([...alert], [21, 3, 3, 0, 2, 2, 10]);
    const malformed = await edge.openTcp();
    malformed.write(Buffer.from([22, 3, 1, 0, 6, 1, 0, 0, 2, 3, 3]));
    const [decodeError] = (await once(malformed, "data")) as [Buffer];
    assert.deepEqual([...decodeError], [21, 3, 3, 0, 2, 2, 50]);
    const http = await edge.openTcp();
    http.write("GET / HTTP/1.1\r\nHost: shop.example.com\r\n\r\n");
    const [answer] = (await once(http, "data")) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1.1 400 .*Content-Length: 48\r\n\r\nThis port speaks HTTPS.{25}\n$/s);
  });

  it("the HTTPS listener serves other clients while one client aborts at every stage of the handshake", async () => {
    const own = await start(sites());
    const hello = await captureHello({ servername: "shop.example.com" });
    for (const length of [1, 5, 60, hello.length - 1, hello.length]) {
      for (const way of ["end", "destroy", "reset"] as const) {
        const client = await own.openTcp();
        client.write(hello.subarray(0, length));
        if (way === "end") client.end();
        else if (way === "destroy") client.destroy();
        else client.resetAndDestroy();
        await own.open("shop.example.com");
      }
    }
    own.clock.pass(defaultListenerLimits.handshakeTimeoutMs);
    while (!/postern_connections_open\{listener="https"\} 0\n/.test(own.metrics.render())) await turn();
  });

  it("D2: the HTTPS listener limits the open connections", async () => {
    const own = await start(sites(), { connections: 3 });
    const held = [await own.openTcp(), await own.openTcp(), await own.openTcp()];
    const fourth = await own.openTcp();
    await closeOf(fourth);
    assert.match(own.metrics.render(), /refused_total\{listener="https",reason="connections"\} 1/);
    held[0]?.destroy();
    while (!/postern_connections_open\{listener="https"\} 2\n/.test(own.metrics.render())) await turn();
    await own.open("shop.example.com");
  });

  it("D2: the HTTPS listener limits the connections to one account without affecting other accounts", async () => {
    const own = await start(
      new Map([
        ["shop.example.com", shop],
        ["held.example.com", site("edghts_held", ["held.example.com"])],
        ["other.example.com", site("edghts_other", ["other.example.com"], {}, "ac_2")],
      ]),
      { connectionsPerAccount: 2 },
    );
    const hold = async (): Promise<TLSSocket> => {
      const { port } = own.listener;
      const socket = connect({ port, host: "127.0.0.1", servername: "held.example.com", ca: authority.certificatePem });
      stops.push(() => socket.destroy());
      await once(socket, "secureConnect");
      return socket;
    };
    const [first] = [await hold(), await hold()];
    await assert.rejects(own.open("shop.example.com"));
    assert.match(own.metrics.render(), /handshakes_total\{result="account_limit"\} 1/);
    await own.open("other.example.com");
    first?.destroy();
    while (!/postern_connections_open\{listener="https"\} 1\n/.test(own.metrics.render())) await turn();
    await own.open("shop.example.com");
  });

  it("R3: the HTTPS listener accepts a PROXY protocol header from the listed proxies and requires it from them", async () => {
    const own = await start(sites(), {}, ["127.0.0.0/8"]);
    const openBehind = async (header: string): Promise<Client["served"]> => {
      const socket = await own.openTcp();
      socket.write(header);
      const { served } = await own.open("shop.example.com", { socket });
      return served;
    };
    const proxied = await openBehind("PROXY TCP4 192.0.2.7 198.51.100.2 56789 443\r\n");
    assert.equal(proxied.facts.source, "192.0.2.7");
    assert.equal(proxied.facts.sourcePort, 56_789);
    assert.equal((await openBehind("PROXY UNKNOWN\r\n")).facts.source, "127.0.0.1");
    await assert.rejects(own.open("shop.example.com"));
    assert.match(own.metrics.render(), /refused_total\{listener="https",reason="proxy_header"\} 1/);
  });

  it("R3: the HTTPS listener accepts no PROXY protocol header from other peers", async () => {
    const own = await start(sites(), {}, ["192.0.2.0/24"]);
    const socket = await own.openTcp();
    socket.write("PROXY TCP4 192.0.2.7 198.51.100.2 56789 443\r\n");
    await assert.rejects(own.open("shop.example.com", { socket }));
    assert.equal((await own.open("shop.example.com")).served.facts.source, "127.0.0.1");
  });

  it("D2: the HTTPS listener counts clients behind a proxy by their own addresses", async () => {
    const own = await start(sites(), { connectionsPerSource: 1 }, ["127.0.0.1/32"]);
    const held = await own.openTcp();
    held.write("PROXY TCP4 192.0.2.7 198.51.100.2 1 443\r\n");
    while (!/postern_connections_total\{listener="https"\} 1\n/.test(own.metrics.render())) await turn();
    const second = await own.openTcp();
    second.write("PROXY TCP4 192.0.2.7 198.51.100.2 2 443\r\n");
    await closeOf(second);
    const other = await own.openTcp();
    other.write("PROXY TCP4 192.0.2.8 198.51.100.2 2 443\r\n");
    await own.open("shop.example.com", { socket: other });
  });

  it("the HTTPS listener stops accepting when closed, without closing open connections", async () => {
    const own = await start(sites());
    const client = await own.openTcp();
    client.write((await captureHello({ servername: "shop.example.com" })).subarray(0, 1));
    while (!/postern_connections_open\{listener="https"\} 1\n/.test(own.metrics.render())) await turn();
    own.listener.close();
    own.listener.close();
    await assert.rejects(own.openTcp(), { code: "ECONNREFUSED" });
    client.write((await captureHello({ servername: "shop.example.com" })).subarray(1));
    await once(client, "data");
  });
});

/** Resolves when the socket has closed, with or without an error. */
function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.resume().on("close", () => resolve()));
}
