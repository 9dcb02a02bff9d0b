import assert from "node:assert/strict";
import { createSecureContext } from "node:tls";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { createSelfSigned } from "../../lib/x509.ts";
import { makeTlsContexts } from "./contexts.ts";
import type { ServerCertificate } from "./server-certificate.ts";

const eightHours = 8 * 60 * 60 * 1000;
const now = Date.UTC(2030, 0, 1);
const keyed = await createSelfSigned({ names: ["*.example.com"], now, days: 90 });
const certificate: ServerCertificate = { id: "cert_1@1", ...keyed, notAfter: Infinity };

describe("the TLS contexts of an edge", () => {
  it("the TLS contexts of an edge are kept, as many as there is room for, and let go of are those asked for longest ago", () => {
    const contexts = makeTlsContexts([], makeManualClock(now), 2);
    const [first, second] = [
      contexts.handshaker("edge_1", {}, certificate),
      contexts.handshaker("edge_2", {}, certificate),
    ];
    assert.equal(contexts.handshaker("edge_1", {}, certificate), first);
    contexts.handshaker("edge_3", {}, certificate);
    assert.equal(contexts.handshaker("edge_1", {}, certificate), first);
    assert.notEqual(contexts.handshaker("edge_2", {}, certificate), second);
    contexts.stop();
  });

  it("K1: the TLS contexts of an edge get other ticket keys after some hours, used or not, and not all at one time", async (t) => {
    const clock = makeManualClock(now);
    const contexts = makeTlsContexts([], clock, 1000);
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
    contexts.stop();
  });
});
