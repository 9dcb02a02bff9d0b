import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { internalKey } from "../../lib/internal-names.ts";
import type { ConnectionSite, Site } from "../../routing/sites/compiled-site.ts";
import { makePools } from "./pools.ts";
import { makePublicSites } from "./public-sites.ts";

const site = (id: string, hosts: readonly string[]): Site =>
  ({ id, hosts, findRoute: () => undefined }) as unknown as Site;
const whole = (id: string, hosts: readonly string[]): ConnectionSite =>
  ({ id, hosts, connection: [] }) as unknown as ConnectionSite;
const host = "a.example";
const loginHost = "idp.example";
const wildcard = ["*.example"];

const httpsEdge = (...hosts: readonly string[]): Site => site("https_edge", hosts);
const tlsEdge = (...hosts: readonly string[]): ConnectionSite => whole("tls_edge", hosts);
const endpoints = { https: site("https_endpoint", [host]), tls: whole("tls_endpoint", [host]) };

/** Looks up `host`, or another name, with an edge, an endpoint, or both. */
function sitesWith(edge: Site | ConnectionSite | undefined, endpoint?: Site | ConnectionSite) {
  return makePublicSites(
    { serving: () => edge, named: () => undefined, hostHolder: () => undefined },
    {
      secureAt: () => endpoint,
      siteFor: () => undefined,
      tlsSiteFor: () => undefined,
      plainSiteFor: () => undefined,
      tunnel: () => undefined,
      tcpSiteAt: () => undefined,
      pool: () => [],
    },
    site("logins", [loginHost]),
    makePools({ pool: () => [] }, { pool: () => [] }, () => 0),
  );
}

describe("the owner of a public name", () => {
  it("the owner of a public name is the server at the host to which logins return", () => {
    assert.equal(sitesWith(httpsEdge(loginHost), endpoints.https).secure(loginHost)?.id, "logins");
    assert.equal(sitesWith(tlsEdge(loginHost), endpoints.tls).secure(loginHost)?.id, "logins");
  });

  it("the owner of a public name is an edge with that name before any endpoint", () => {
    for (const endpoint of [endpoints.https, endpoints.tls]) {
      assert.equal(sitesWith(httpsEdge(host), endpoint).secure(host)?.id, "https_edge");
      assert.equal(sitesWith(tlsEdge(host), endpoint).secure(host)?.id, "tls_edge");
    }
  });

  it("R5: the owner of a public name is the endpoint published there before an edge with a wildcard", () => {
    for (const edge of [httpsEdge(...wildcard), tlsEdge(...wildcard)]) {
      assert.equal(sitesWith(edge, endpoints.https).secure(host)?.id, "https_endpoint");
      assert.equal(sitesWith(edge, endpoints.tls).secure(host)?.id, "tls_endpoint");
    }
  });

  it("the owner of a public name is the edge with a wildcard if nothing else has the name", () => {
    assert.equal(sitesWith(httpsEdge(...wildcard)).secure(host)?.id, "https_edge");
    assert.equal(sitesWith(tlsEdge(...wildcard)).secure(host)?.id, "tls_edge");
  });

  it("the owner of a public name has an HTTPS site only if it serves requests", () => {
    assert.equal(sitesWith(httpsEdge(host)).https(host)?.id, "https_edge");
    assert.equal(sitesWith(undefined, endpoints.https).https(host)?.id, "https_endpoint");
    assert.equal(sitesWith(tlsEdge(host), endpoints.https).https(host), undefined);
    assert.equal(sitesWith(httpsEdge(...wildcard), endpoints.tls).https(host), undefined);
  });

  it("the owner of a public name is undefined for internal names", () => {
    const internal = internalKey({ scheme: "https", host: "shop.internal", port: 443 }, "ac_1");
    assert.equal(sitesWith(httpsEdge(internal), endpoints.https).secure(internal), undefined);
  });
});
