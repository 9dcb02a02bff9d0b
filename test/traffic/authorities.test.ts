/** Effects of a request's Host or `:authority`: its port, and routes that name a host. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import type { ExplanationReport } from "../../src/routing/planes/edge-questions.ts";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import type { Protocol } from "../support/http-client.ts";
import { ipPolicy } from "../support/objects.ts";

let fixture: EdgeWithAgent;
before(async () => {
  fixture = await startEdgeWithAgent({ httpsPort: 8443 });
  for (const { kind, id, doc } of ipPolicy("ipp_staff", { "127.0.0.9/32": "allow" })) fixture.put(kind, id, doc);
});
after(() => fixture.stop());

function edge(hostports: readonly string[]): void {
  fixture.put("https_edge", "edghts_1", { hostports, mutual_tls: null, tls_termination: null });
}

/** @param serverName as in TLS, and in `authority` unless that is given */
function ask(protocol: Protocol, serverName: string, authority: string, path = "/", source = "127.0.0.1") {
  const headers = protocol === "h1" ? { host: authority } : { ":authority": authority };
  return fixture.ask(protocol, { host: serverName, headers, path, source });
}

async function explained(host: string, target = "/"): Promise<ExplanationReport> {
  const request = { method: "GET", host, target, headers: [], source: "127.0.0.1", body: "", response: undefined };
  const question = { name: "explain_request", accountId: "ac_1", siteId: "edghts_1", request } as const;
  const told = await fixture.edge.question(question);
  if (told.name !== "explanation") throw new Error("explain: no explanation");
  return told.explanation;
}

for (const protocol of protocols) {
  describe(`the authority of a request over ${protocol}`, () => {
    it(`the authority of a request over ${protocol} names no port, the one of a hostport or the one that is listened on, and no other: 421`, async () => {
      edge(["app.example.com:9443", "app.example.com:10443", "b.example.com:443", "*.w.example.com:7443"]);
      const real = fixture.edge.edge.https.port;
      const allowed = {
        "app.example.com": ["", ":9443", ":10443", `:${real}`],
        "b.example.com": ["", ":443", `:${real}`],
        "x.y.w.example.com": ["", ":7443", `:${real}`],
      };
      for (const [name, ports] of Object.entries(allowed)) {
        for (const port of ["", ":443", ":80", ":7443", ":8443", ":9443", ":10443", `:${real}`]) {
          const expected = ports.includes(port) ? 200 : 421;
          assert.equal((await ask(protocol, name, `${name}${port}`)).status, expected, `${name}${port}`);
          const { status, errorCode: code } = await explained(`${name}${port}`);
          assert.deepEqual(
            [status, code],
            expected === 200 ? [undefined, undefined] : [421, errorCode("misdirected")],
            `explain ${name}${port}`,
          );
        }
      }
      assert.equal((await ask(protocol, "APP.example.com", "App.Example.com.:9443")).status, 200);
      edge(["app.example.com:443"]);
      assert.equal((await ask(protocol, "app.example.com", "app.example.com:9443")).status, 421);
    });

    it(`the authority of a request over ${protocol} names the port of an agent's endpoint, or the one that is listened on, and no other`, async () => {
      const { url } = await fixture.agent.bind();
      assert.match(url, /:8443$/);
      const name = new URL(url).hostname;
      for (const port of ["", ":8443", `:${fixture.edge.edge.https.port}`]) {
        assert.equal((await ask(protocol, name, `${name}${port}`)).status, 200, port);
      }
      for (const port of [":443", ":9443", ":80"]) {
        assert.equal((await ask(protocol, name, `${name}${port}`)).status, 421, port);
      }
    });

    it(`the authority of a request over ${protocol} selects among routes for a host, a wildcard and any host, with their restrictions`, async () => {
      edge(["app.example.com:443", "*.w.example.com:443"]);
      fixture.route({});
      const put = (id: string, match: string, closed: boolean): void =>
        fixture.put("https_edge_route", id, {
          edge_id: "edghts_1",
          match_type: "path_prefix",
          match,
          backend: { enabled: true, backend_id: "bkdtg_1" },
          ip_restriction: closed ? { enabled: true, ip_policy_ids: ["ipp_staff"] } : null,
        });
      put("edghtsrt_app", "App.example.com/%61dmin", true);
      put("edghtsrt_wild", "*.w.example.com", true);
      put("edghtsrt_open", "open.w.example.com/x", false);
      const cases: readonly (readonly [host: string, path: string, status: number])[] = [
        ["app.example.com", "/admin", 403],
        ["APP.example.com.", "/%61dmin/x", 403],
        ["app.example.com", "/", 200],
        ["a.w.example.com", "/admin", 403],
        ["a.w.example.com", "/", 403],
        ["open.w.example.com", "/x/y", 200],
        ["open.w.example.com", "/", 403],
      ];
      for (const [host, path, status] of cases) {
        const name = host.toLowerCase().replace(/\.$/, "");
        assert.equal((await ask(protocol, name, host, path)).status, status, host + path);
        assert.equal((await ask(protocol, name, host, path, "127.0.0.9")).status, 200, host + path);
      }
      for (const id of ["app", "wild", "open"]) fixture.edge.remove("https_edge_route", `edghtsrt_${id}`);
    });
  });
}

describe("the authority of a request where the operator names no public port", () => {
  let unnamed: EdgeWithAgent;
  before(async () => (unnamed = await startEdgeWithAgent()));
  after(() => unnamed.stop());

  for (const protocol of protocols) {
    it(`R2: the authority of a request over ${protocol}, where the operator names no public port, may name 443, and no other host by it`, async () => {
      unnamed.put("https_edge", "edghts_1", { hostports: ["app.example.com:9443"], mutual_tls: null });
      const { url } = await unnamed.agent.bind();
      const { hostname } = new URL(url);
      for (const name of ["app.example.com", hostname]) {
        for (const [port, expected] of [
          [":443", 200],
          [":80", 421],
          [":444", 421],
        ] as const) {
          const headers = { [protocol === "h1" ? "host" : ":authority"]: `${name}${port}` };
          assert.equal((await unnamed.ask(protocol, { host: name, headers })).status, expected, `${name}${port}`);
        }
      }
      const headers = { [protocol === "h1" ? "host" : ":authority"]: `${hostname}:443` };
      assert.equal((await unnamed.ask(protocol, { host: "app.example.com", headers })).status, 421);
    });
  }
});

it("explain reports which host or path kept a route from matching", async () => {
  edge(["app.example.com:443", "*.w.example.com:443"]);
  fixture.route({});
  const put = (id: string, match: string): void =>
    fixture.put("https_edge_route", id, { edge_id: "edghts_1", match_type: "path_prefix", match });
  put("edghtsrt_a", "*.w.example.com/x");
  put("edghtsrt_b", "app.example.com/ap");
  put("edghtsrt_c", "app.example.com");
  put("edghtsrt_d", "a.w.example.com/API");
  put("edghtsrt_e", "/z%2fz");
  const { route, near } = await explained("app.example.com", "/api");
  assert.equal(route?.id, "edghtsrt_c");
  const reasons = Object.fromEntries(near.map(({ id, reason }) => [id, reason]));
  assert.equal(reasons["edghtsrt_1"], "a more specific route matched");
  assert.match(reasons["edghtsrt_b"] ?? "", /^the path continues within a segment/);
  assert.match(reasons["edghtsrt_d"] ?? "", /^its host "a\.w\.example\.com" is not "app\.example\.com", and the case/);
  assert.match(reasons["edghtsrt_e"] ?? "", /^no request can match it: it must have a canonical form/);
  assert.equal(reasons["edghtsrt_a"], undefined);
  const other = await explained("b.w.example.com", "/x/y");
  assert.equal(other.route?.id, "edghtsrt_a");
  assert.equal(
    other.near.find(({ id }) => id === "edghtsrt_c")?.reason,
    'its host "app.example.com" is not "b.w.example.com"',
  );
});
