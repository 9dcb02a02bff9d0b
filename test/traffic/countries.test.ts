/** Rules by country and category on real sockets: HTTP/1.1, HTTP/2, TLS and TCP, behind proxies and for agents. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { runAtOnce } from "../../src/lib/slices.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { packNetworks } from "../../src/geo/network-set.ts";
import { connectAgent } from "../support/agents.ts";
import { freePort, readToEnd } from "../support/connections.ts";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import type { Asked, Protocol } from "../support/http-client.ts";
import { country, dataOf, mmdbOf } from "../support/mmdb.ts";
import { connectionEdge } from "../support/objects.ts";
import { startTcpService } from "../support/services.ts";

const cologne = {
  city: { names: { en: "Cologne" } },
  country: { iso_code: "DE", names: { en: "Germany" } },
  location: { latitude: 50.9, longitude: 6.9, accuracy_radius: 20 },
  subdivisions: [{ names: { en: "North Rhine-Westphalia" } }],
  autonomous_system_number: 64500,
  autonomous_system_organization: "Example",
};
const database = mmdbOf({
  "127.0.0.2/32": country("DE"),
  "127.0.0.3/32": country("FR"),
  "192.0.2.0/24": cologne,
  "198.51.100.0/24": country("FR"),
  "2001:db8::/32": country("DE"),
});
const networks = runAtOnce(packNetworks("198.51.100.0/25\n2001:db8:7::/48\n"));
const data = dataOf(database, [{ name: "proxy.anonymous.tor", networks }]);

let fixture: EdgeWithAgent;
let wanted = 0;

before(async () => {
  fixture = await startEdgeWithAgent({
    tcpBind: "127.0.0.1",
    trustedForwarders: ["127.0.0.1/32"],
    addresses: { data, wanted: () => (wanted += 1) },
    limits: { traces: { sampled: { perSecond: 1e6, burst: 1e6 } } },
  });
});
after(() => fixture.stop());

/** Through a trusted proxy, from this address. */
function ask(protocol: Protocol, forwardedFor: string, named = host): Promise<Asked> {
  return fixture.ask(protocol, { source: "127.0.0.1", host: named, headers: { "x-forwarded-for": forwardedFor } });
}

function policy(...rules: readonly object[]): Readonly<Record<string, unknown>> {
  return { traffic_policy: { enabled: true, value: JSON.stringify({ on_http_request: rules }) } };
}

const denies = [{ type: "deny" }];

it("locations are not asked for before a rule needs them", async () => {
  fixture.route({});
  assert.equal((await ask("h1", "192.0.2.7")).status, 200);
  assert.equal(wanted, 0);
});

for (const protocol of protocols) {
  describe(`a rule by country over ${protocol}`, () => {
    it(`R7: a rule by country over ${protocol} uses the address that a trusted proxy names, and no other`, async () => {
      fixture.route({ country_restriction: { enabled: true, allow: ["DE"], deny: [] } });
      const expected = [
        ["192.0.2.7", 200],
        ["::ffff:192.0.2.7", 200],
        ["2001:db8::7", 200],
        ["198.51.100.7", 403],
        ["10.0.0.1", 403],
        ["192.0.2.7, 198.51.100.7", 403],
      ] as const;
      for (const [source, status] of expected) assert.equal((await ask(protocol, source)).status, status, source);
      const forged = { source: "127.0.0.3", headers: { "x-forwarded-for": "192.0.2.7" } };
      const denied = await fixture.ask(protocol, forged);
      assert.equal(denied.status, 403);
      assert.equal(denied.headers["postern-error-code"], errorCode("country_denied"));
      assert.equal((await fixture.ask(protocol, { source: "127.0.0.2" })).status, 200);
      assert.ok(wanted > 0);
    });

    it(`a rule by country over ${protocol} denies what an agent's options deny`, async () => {
      const name = `country-${protocol}.apps.example.com`;
      await fixture.agent.bind({ hostname: name, options: { CountryRestriction: { deny: ["fr"] } } });
      assert.equal((await ask(protocol, "198.51.100.7", name)).status, 403);
      assert.equal((await ask(protocol, "192.0.2.7", name)).status, 200);
      assert.equal((await ask(protocol, "10.0.0.1", name)).status, 200);
    });

    it(`a rule by country over ${protocol} is explained as it decides, also for an assumed country`, async () => {
      fixture.route({ country_restriction: { enabled: true, allow: ["DE"], deny: [] } });
      const explained = async (source: string, assumed?: string) => {
        const request = { method: "GET", host, target: "/", headers: [], source, body: "", response: undefined };
        const told = await fixture.edge.question({
          name: "explain_request",
          accountId: "ac_1",
          siteId: "edghts_1",
          request: { ...request, country: assumed },
        });
        assert.ok(told.name === "explanation");
        const { outcome, sourceCountry, steps } = told.explanation;
        return { outcome, sourceCountry, reason: steps.find(({ by }) => by === "country_restriction")?.reason };
      };
      for (const source of ["192.0.2.7", "198.51.100.7", "10.0.0.1"]) {
        const real = await ask(protocol, source);
        const trace = await fixture.edge.question({ name: "request", accountId: "ac_1", id: real.id });
        const [kept] = trace.name === "requests" ? trace.requests : [];
        const told = await explained(source);
        assert.equal(told.outcome, kept?.outcome, source);
        assert.equal(told.reason, kept?.steps.find(({ by }) => by === "country_restriction")?.reason, source);
        assert.equal(told.sourceCountry, kept?.sourceCountry, source);
      }
      const assumed = await explained("198.51.100.7", "DE");
      assert.deepEqual(assumed, {
        outcome: "forwarded",
        sourceCountry: "DE",
        reason: "the address is in Germany (DE), and allow lists it",
      });
    });

    it(`a rule by country over ${protocol} is a traffic policy, too`, async () => {
      const cases = [
        ["conn.geo.country_code == 'FR'", "198.51.100.7", "192.0.2.7"],
        ["conn.geo.country == 'France'", "198.51.100.7", "192.0.2.7"],
        ["conn.client_ip.geo.location.continent != 'Europe'", "10.0.0.1", "192.0.2.7"],
        ["!conn.client_ip.geo.location.is_eu", "10.0.0.1", "198.51.100.7"],
        ["conn.client_ip.geo.registered_location.country_code == 'DE'", "2001:db8::1", "198.51.100.7"],
        ["conn.client_ip.as.number == 64500 && conn.client_ip.as.organization == 'Example'", "192.0.2.7", "10.0.0.1"],
        ["conn.geo.latitude > 50.0 && conn.geo.longitude < 7.0", "192.0.2.7", "198.51.100.7"],
        ["conn.client_ip.geo.location.latitude == '50.9' && conn.geo.city == 'Cologne'", "192.0.2.7", "198.51.100.7"],
        ["'proxy.anonymous' in conn.client_ip.categories", "198.51.100.7", "198.51.100.200"],
        ["conn.client_ip.is_tor_node", "2001:db8:7::1", "2001:db8:8::1"],
        ["conn.Geo.CountryCode == ''", "10.0.0.1", "192.0.2.7"],
      ];
      for (const [expression = "", refused = "", admitted = ""] of cases) {
        fixture.route(policy({ expressions: [expression], actions: denies }));
        assert.equal((await ask(protocol, refused)).status, 403, expression);
        assert.equal((await ask(protocol, admitted)).status, 200, expression);
      }
    });

    it(`a rule by country over ${protocol} writes places into header fields`, async () => {
      const value = "${conn.geo.country_code} ${conn.geo.city} ${conn.geo.latitude} ${conn.geo.radius}";
      fixture.route({ request_headers: { enabled: true, add: { "x-place": value }, remove: [] } });
      await ask(protocol, "192.0.2.7");
      assert.equal(fixture.received.at(-1)?.headers["x-place"], "DE Cologne 50.9 20");
      await ask(protocol, "10.0.0.1");
      assert.equal(fixture.received.at(-1)?.headers["x-place"] ?? "", "");
    });
  });
}

describe("a rule by country for connections", { timeout: 30_000 }, () => {
  for (const kind of ["tcp_edge", "tls_edge"] as const) {
    it(`R7: a rule by country for connections decides on a ${kind} before the service sees a byte`, async () => {
      const service = await startTcpService((socket) => socket.end("served"));
      const agent = await connectAgent(fixture.edge, fixture.token, service.port, false);
      const port = kind === "tcp_edge" ? await freePort() : fixture.edge.edge.https.port;
      const name = kind === "tcp_edge" ? `db.example.com:${port}` : "db.example.com:443";
      const [backend, edge] = connectionEdge(kind, "db", [name]);
      fixture.edge.put(backend as never);
      const restricted = { ...edge?.doc, country_restriction: { enabled: true, allow: ["DE"], deny: [] } };
      fixture.edge.put({ ...edge, doc: restricted } as never);
      await agent.label({ app: "db" });
      const reached = async (localAddress: string): Promise<string> => {
        if (kind === "tls_edge") {
          const client = await fixture.edge
            .connect("h1", { host: "db.example.com", source: localAddress })
            .catch(() => undefined);
          return client ? (await readToEnd(client)).text : "";
        }
        return (await readToEnd(connect({ host: "127.0.0.1", port, localAddress }))).text;
      };
      assert.equal(await reached("127.0.0.2"), "served");
      const before = service.connections.length;
      assert.equal(await reached("127.0.0.3"), "");
      assert.equal(await reached("127.0.0.9"), "");
      assert.equal(service.connections.length, before);
      const told = await fixture.edge.question({
        name: "explain_connection",
        accountId: "ac_1",
        kind,
        siteId: String(edge?.id),
        source: "10.0.0.1",
        port,
        country: "FR",
      });
      assert.ok(told.name === "explanation");
      assert.equal(told.explanation.outcome, "denied");
      assert.equal(told.explanation.sourceCountry, "FR");
      agent.close();
      fixture.edge.remove(kind, String(edge?.id));
      await service.stop();
    });
  }
});
