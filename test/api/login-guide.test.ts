/** The login guide's registration instructions match what the server reports. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { issuerTag } from "../../src/identity/browser/realm.ts";
import { oauthProviders } from "../../src/identity/oauth/oauth-providers.ts";
import { catalogue } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";
import { derOf, makeProviderKeys, metadataXml } from "../support/saml-idp.ts";

const guide = readFileSync(new URL("../../docs/guides/logins.md", import.meta.url), "utf8");
const issuer = "https://login.example.com";
const base = "https://idp.t.example.com";

/** Cells of the rows in the first table after a heading, without code markup. */
function rows(firstCell: string): readonly (readonly string[])[] {
  const lines = guide.split("\n");
  const head = lines.findIndex((line) => line.startsWith(`| ${firstCell} `));
  assert.ok(head >= 0, `the guide has a table of "${firstCell}"`);
  const end = lines.findIndex((line, at) => at > head && !line.startsWith("|"));
  return lines.slice(head + 2, end).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const codes = (text: string): readonly string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);

describe("the guide of logins", () => {
  let api: TestApi;
  before(async () => {
    api = await startApi(databases[0] as (typeof databases)[number], { domain: "t.example.com", httpsPort: 443 });
  });
  after(() => api.stop());

  it("the login guide has the addresses that the server reports", async () => {
    const oauth = await api.ok("GET", "/login_addresses");
    const oidc = await api.ok("GET", `/login_addresses?issuer=${issuer}`);
    const { id } = (await api.ok("GET", "/accounts")).accounts[0];
    assert.ok(oidc.redirect_uri.endsWith(`/${issuerTag(id, issuer)}`), "each account has a place of its own");
    assert.deepEqual(
      [oauth.post_logout_redirect_uri, oauth.backchannel_logout_uri, oauth.development_provider],
      [null, null, null],
    );
    const tag = oidc.redirect_uri.slice(oidc.redirect_uri.lastIndexOf("/") + 1);
    const told = rows("Login").map(([, address = ""]) =>
      codes(address)[0]?.replace("<domain>", "t.example.com").replace("<tag>", tag),
    );
    assert.deepEqual(told, [
      oauth.redirect_uri,
      oidc.redirect_uri,
      oidc.post_logout_redirect_uri,
      oidc.backchannel_logout_uri,
    ]);
    const moving = guide.slice(guide.indexOf("## Moving from"));
    assert.ok(moving.includes("`https://idp.<domain>/oauth2/callback`"));
  });

  it("the login guide has the addresses in the server's SAML metadata", async () => {
    const keys = await makeProviderKeys();
    const idp_metadata = metadataXml({ certificates: [derOf(keys.certificatePem)], redirect: `${issuer}/sso` });
    const edge = await api.ok("POST", "/edges/https", {});
    const route = await api.ok("POST", `/edges/https/${edge.id}/routes`, {
      match_type: "path_prefix",
      match: "/",
      saml: { idp_metadata },
    });
    const entity = `${base}/saml/${route.id}`;
    assert.ok(guide.includes("`https://idp.<domain>/saml/<route id>`"));
    assert.ok(guide.includes("with `/acs`, log-outs at `…/slo`"));
    const { saml } = route;
    assert.deepEqual(
      [saml.entity_id, saml.metadata_url, saml.assertion_consumer_service_url, saml.single_logout_url],
      [entity, entity, `${entity}/acs`, `${entity}/slo`],
    );
    for (const [field = ""] of rows("Field of the module")) {
      for (const name of codes(field)) assert.ok(name in saml, name);
    }
  });

  it("the login guide lists every provider, with the scopes that are requested", () => {
    const named = rows("Provider").map(([name = ""]) => name.toLowerCase());
    for (const name of oauthProviders.keys()) assert.ok(named.includes(name), name);
    const needs = { memberships: false, refreshes: false };
    const gitlab = rows("Provider").find(([name]) => name === "GitLab")?.[2] ?? "";
    assert.ok(codes(gitlab).includes(oauthProviders.get("gitlab")?.scopes(needs).join(" ") ?? "none"));
    const github = oauthProviders.get("github")?.scopes({ ...needs, memberships: true }) ?? [];
    assert.ok(github.includes("read:org"));
    assert.ok(!oauthProviders.get("github")?.scopes(needs).includes("read:org"));
  });

  it("the guide of logins explains codes that there are", () => {
    const numbers = new Set(Object.values(catalogue).map(({ number }) => String(number)));
    for (const [cell = ""] of rows("Code")) {
      for (const number of cell.split(", ")) assert.ok(numbers.has(number), number);
    }
  });
});
