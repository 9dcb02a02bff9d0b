import assert from "node:assert/strict";
import { Server } from "node:tls";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { createSelfSigned } from "../../lib/x509.ts";
import type { ServerCertificate } from "./server-certificate.ts";
import { makeTlsServers } from "./servers.ts";

const eightHours = 8 * 60 * 60 * 1000;
const now = Date.UTC(2030, 0, 1);
const keyed = await createSelfSigned({ names: ["*.example.com"], now, days: 90 });
const certificate: ServerCertificate = { id: "cert_1@1", ...keyed, notAfter: Infinity };

describe("the TLS servers of an edge", () => {
  it("the TLS servers of an edge are kept, as many as there is room for, and let go of are those asked for longest ago", () => {
    const servers = makeTlsServers([], makeManualClock(now), 2);
    const [first, second] = [servers.server("edge_1", {}, certificate), servers.server("edge_2", {}, certificate)];
    assert.equal(servers.server("edge_1", {}, certificate), first);
    servers.server("edge_3", {}, certificate);
    assert.equal(servers.server("edge_1", {}, certificate), first);
    assert.notEqual(servers.server("edge_2", {}, certificate), second);
    servers.stop();
  });

  it("K1: the TLS servers of an edge get other ticket keys after some hours, used or not, and not all at one time", async (t) => {
    const clock = makeManualClock(now);
    const servers = makeTlsServers([], clock, 1000);
    const sites = Array.from({ length: 250 }, (_, at) => `edge_${at}`);
    for (const id of sites) servers.server(id, {}, certificate);
    const given = t.mock.method(Server.prototype, "setTicketKeys");
    const counts = [];
    clock.pass(eightHours);
    for (let turn = 0; turn < 4; turn += 1) {
      counts.push(given.mock.callCount());
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual(counts, [100, 200, 250, 250]);
    const keys = new Set(given.mock.calls.map(({ arguments: [key] }) => key.toString("hex")));
    assert.equal(keys.size, sites.length);
    servers.stop();
  });
});
