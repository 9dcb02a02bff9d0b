import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ConnectionSite, Site } from "../../routing/sites/compiled.ts";
import { makePools } from "./pools.ts";
import { makePublicSites } from "./public-sites.ts";

const site = (id: string, hosts: readonly string[]): Site => ({ id, hosts }) as Site;
const whole = (id: string, hosts: readonly string[]): ConnectionSite => ({ id, hosts }) as ConnectionSite;
const host = "a.example";
const loginHost = "idp.example";
const wildcard = ["*.example"];

/** What holds `host`: edges by their hosts, endpoints by being there. */
function sitesWith(held: {
  readonly httpsEdge?: readonly string[];
  readonly tlsEdge?: readonly string[];
  readonly endpoint?: "https" | "tls";
}) {
  return makePublicSites(
    {
      httpsSite: () => held.httpsEdge && site("https_edge", held.httpsEdge),
      named: () => undefined,
      tlsSite: () => held.tlsEdge && whole("tls_edge", held.tlsEdge),
    },
    {
      siteFor: () => (held.endpoint === "https" ? site("endpoint", [host]) : undefined),
      tlsSiteFor: () => (held.endpoint === "tls" ? whole("endpoint", [host]) : undefined),
      plainSiteFor: () => undefined,
      tunnel: () => undefined,
      tcpSiteAt: () => undefined,
    },
    site("logins", [loginHost]),
    makePools({ pool: () => [] }, { pool: () => [] }, () => 0),
  );
}

describe("the owner of a public name", () => {
  it("the owner of a public name is the server alone where visitors come back to from identity providers", () => {
    const sites = sitesWith({ httpsEdge: [loginHost], tlsEdge: [loginHost], endpoint: "https" });
    assert.equal(sites.https(loginHost)?.id, "logins");
    assert.equal(sites.tls(loginHost), undefined);
  });

  it("the owner of a public name is the edge that names it, before any endpoint", () => {
    for (const endpoint of ["https", "tls"] as const) {
      assert.equal(sitesWith({ httpsEdge: [host], endpoint }).https(host)?.id, "https_edge");
      assert.equal(sitesWith({ tlsEdge: [host], endpoint }).tls(host)?.id, "tls_edge");
    }
  });

  it("R5: the owner of a public name is the endpoint that is published at it, before an edge that covers it with a wildcard", () => {
    assert.equal(sitesWith({ httpsEdge: wildcard, endpoint: "https" }).https(host)?.id, "endpoint");
    assert.equal(sitesWith({ tlsEdge: wildcard, endpoint: "tls" }).tls(host)?.id, "endpoint");
    assert.equal(sitesWith({ httpsEdge: wildcard, endpoint: "tls" }).https(host), undefined);
    assert.equal(sitesWith({ tlsEdge: wildcard, endpoint: "https" }).tls(host), undefined);
  });

  it("the owner of a public name is not a TLS edge with a wildcard where an HTTPS edge names it", () => {
    assert.equal(sitesWith({ tlsEdge: wildcard, httpsEdge: [host] }).tls(host), undefined);
  });

  it("the owner of a public name is the edge with a wildcard where nothing else has the name", () => {
    assert.equal(sitesWith({ httpsEdge: wildcard }).https(host)?.id, "https_edge");
    assert.equal(sitesWith({ tlsEdge: wildcard }).tls(host)?.id, "tls_edge");
  });
});
