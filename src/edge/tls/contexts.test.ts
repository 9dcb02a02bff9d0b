import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { connect, createSecureContext } from "node:tls";
import type { ConnectionOptions } from "node:tls";
import { after, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { createSelfSigned } from "../../lib/certificates/x509.ts";
import { makeTlsContexts } from "./contexts.ts";
import { makeTicketSecret } from "./ticket-secret.ts";
import type { TicketSecret } from "./ticket-secret.ts";
import type { Handshaker } from "./handshaker.ts";
import type { ServerCertificate } from "./server-certificate.ts";

const eightHours = 8 * 60 * 60 * 1000;
const now = Date.UTC(2030, 0, 1);
const keyed = await createSelfSigned({ names: ["*.example.com"], now, days: 90 });
const certificate: ServerCertificate = { id: "cert_1@1", ...keyed, notAfter: Infinity };

const ofRsa = await createSelfSigned({ names: ["*.example.com"], now, days: 90, keyType: "rsa" });
const rsaCertificate: ServerCertificate = { id: "cert_2@1", ...ofRsa, notAfter: Infinity };

describe("the TLS contexts of an edge", async () => {
  const listener = createServer({ pauseOnConnect: true, allowHalfOpen: true }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  after(() => listener.close());
  const { port } = listener.address() as AddressInfo;

  /** Opens one connection through `handshaker` and ends it after its handshake. */
  async function visit(handshaker: Handshaker, options: ConnectionOptions) {
    const accepted = once(listener, "connection") as Promise<[Socket]>;
    const client = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ...options });
    const tickets: Buffer[] = [];
    client.on("session", (ticket) => tickets.push(ticket)).resume();
    let isResumed: boolean | undefined;
    client.on("secureConnect", () => (isResumed = client.isSessionReused()));
    const [plain] = await accepted;
    handshaker.accept(plain, (result) => {
      if (!(result instanceof Error)) result.end();
    });
    await once(client, "close");
    return { isResumed, tickets, session: tickets.at(-1) as Buffer };
  }

  it("the TLS contexts of an edge fill a cache of limited size that drops the least recently used", () => {
    const contexts = makeTlsContexts("https", [], makeTicketSecret(makeManualClock(now)), 2);
    const [first, second] = [
      contexts.handshaker("edge_1", {}, certificate),
      contexts.handshaker("edge_2", {}, certificate),
    ];
    assert.equal(contexts.handshaker("edge_1", {}, certificate), first);
    contexts.handshaker("edge_3", {}, certificate);
    assert.equal(contexts.handshaker("edge_1", {}, certificate), first);
    assert.notEqual(contexts.handshaker("edge_2", {}, certificate), second);
  });

  it("K1: the TLS contexts of an edge change ticket keys after some hours, used or not, and in batches", async (t) => {
    const clock = makeManualClock(now);
    const contexts = makeTlsContexts("https", [], makeTicketSecret(clock), 1000);
    const sites = Array.from({ length: 250 }, (_, at) => `edge_${at}`);
    for (const id of sites) contexts.handshaker(id, {}, certificate);
    const native = Object.getPrototypeOf(createSecureContext().context) as { setTicketKeys(keys: Buffer): void };
    const given = t.mock.method(native, "setTicketKeys");
    const counts = [];
    clock.pass(eightHours);
    for (let turn = 0; turn < 4; turn += 1) {
      counts.push(given.mock.callCount());
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual(counts, [100, 200, 250, 250]);
    const keys = new Set(given.mock.calls.map(({ arguments: [key] }) => key.toString("hex")));
    assert.equal(keys.size, sites.length);
  });

  it("the TLS contexts of an edge renew tickets of returning clients if a signature costs more", async () => {
    const contexts = makeTlsContexts("https", [], makeTicketSecret(makeManualClock(now)), 10);
    const dear = contexts.handshaker("edge_1", {}, rsaCertificate);
    let { isResumed, session, tickets } = await visit(dear, {});
    assert.equal(isResumed, false);
    for (let visits = 0; visits < 3; visits += 1) {
      ({ isResumed, session, tickets } = await visit(dear, { session }));
      assert.equal(isResumed, true);
      assert.equal(tickets.length, 1);
    }
    const cheap = contexts.handshaker("edge_1", {}, certificate);
    const again = await visit(cheap, { session: (await visit(cheap, {})).session });
    assert.equal(again.isResumed, true);
    assert.equal(again.tickets.length, 0);
  });

  for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
    it(`K2: the TLS contexts of an edge reject renewed tickets of another site, certificate or demands (${maxVersion})`, async () => {
      const contexts = makeTlsContexts("https", [], makeTicketSecret(makeManualClock(now)), 10);
      const { session } = await visit(contexts.handshaker("edge_1", {}, rsaCertificate), { maxVersion });
      const others = [
        contexts.handshaker("edge_2", {}, rsaCertificate),
        contexts.handshaker("edge_1", { maxVersion }, rsaCertificate),
        contexts.handshaker("edge_1", {}, { ...rsaCertificate, id: "cert_2@2" }),
        makeTlsContexts("https", [], makeTicketSecret(makeManualClock(now)), 10).handshaker(
          "edge_1",
          {},
          rsaCertificate,
        ),
      ];
      for (const other of others) assert.equal((await visit(other, { maxVersion, session })).isResumed, false);
    });

    it(`K6: the TLS contexts of an edge resume sessions of other edges with the same secret, and none of an earlier secret (${maxVersion})`, async () => {
      const secrets = [makeTicketSecret(makeManualClock(now)), makeTicketSecret(makeManualClock(now))];
      const edges = secrets.map((secret) => makeTlsContexts("https", [], secret, 10));
      for (const shown of [certificate, rsaCertificate]) {
        const [one, other] = edges.map((edge, at) =>
          edge.handshaker("edge_1", {}, { ...shown, id: `own-${at}`, lineage: "own shop.example.com" }),
        ) as [Handshaker, Handshaker];
        for (const secret of secrets) secret.take(Buffer.alloc(32, 1));
        const { session } = await visit(one, { maxVersion });
        assert.equal((await visit(other, { maxVersion, session })).isResumed, true);
        const elsewhere = makeTlsContexts("tls", [], secrets[1] as TicketSecret, 10);
        const sameSite = elsewhere.handshaker("edge_1", {}, { ...shown, lineage: "own shop.example.com" });
        assert.equal((await visit(sameSite, { maxVersion, session })).isResumed, false);
        for (const secret of secrets) secret.take(Buffer.alloc(32, 2));
        for (const edge of [one, other]) assert.equal((await visit(edge, { maxVersion, session })).isResumed, false);
      }
      for (const secret of secrets) secret.stop();
    });

    it(`K1: the TLS contexts of an edge reject renewed tickets after some hours (${maxVersion})`, async () => {
      const clock = makeManualClock(now);
      const contexts = makeTlsContexts("https", [], makeTicketSecret(clock), 10);
      const shop = contexts.handshaker("edge_1", {}, rsaCertificate);
      const { session } = await visit(shop, { maxVersion });
      clock.pass(eightHours);
      const later = await visit(shop, { maxVersion, session });
      assert.equal(later.isResumed, false);
      assert.equal((await visit(shop, { maxVersion, session: later.session })).isResumed, true);
    });
  }
});
