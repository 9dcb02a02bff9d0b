/** Follows the guide of logins: registers its values at providers that accept nothing else. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { eventually } from "../support/eventually.ts";
import { oauthApps } from "../../src/settings/kinds/oauth-apps.ts";
import type { ManagedApps } from "../../src/settings/kinds/oauth-apps.ts";
import { codeOf, names, seen } from "../support/login-world.ts";
import { startMetadataServer } from "../support/metadata-server.ts";
import type { MetadataServer } from "../support/metadata-server.ts";
import { clientId, clientSecret } from "../support/oauth-providers.ts";
import type { Person } from "../support/oauth-providers.ts";
import { startOwnIssuer } from "../support/own-issuer.ts";
import type { OwnIssuer } from "../support/own-issuer.ts";
import { formBody, persistent } from "../support/saml-idp.ts";
import type { AnswerOptions, SamlRouteUrls } from "../support/saml-provider.ts";
import { startSamlWorld } from "../support/saml-world.ts";
import type { SamlWorld } from "../support/saml-world.ts";

const guide = readFileSync(new URL("../../docs/guides/logins.md", import.meta.url), "utf8");
const ada: Person = { id: "4711", name: "Ada", login: "ada", email: "ada@example.com", verified: true };
const client = { client_id: clientId, client_secret: clientSecret };

/** Returns the cells of a row of the guide, by its first cell. */
function row(first: string): readonly string[] {
  const line = guide.split("\n").find((one) => one.startsWith(`| ${first} `));
  assert.ok(line, `the guide has a row "${first}"`);
  return line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

const isAtIdp = (url: string): boolean => url.startsWith("https://id.example/");

const coded = (text: string): readonly string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);

/**
 * Returns the guide's file of apps, with the fake providers' client and address. For the others, only the address
 * changes.
 */
function appsAt(baseUrl: string): ManagedApps {
  const [, shown = ""] = /`--oauth-apps`:\n\n```yaml\n([^`]+)```/.exec(guide) ?? [];
  const own = shown
    .replaceAll(/client_id: .*/g, `client_id: ${clientId}`)
    .replaceAll(/client_secret: .*/g, `client_secret: ${clientSecret}\n  base_url: ${baseUrl}`);
  const others = names.filter((name) => !own.includes(`${name}:`)).map((name) => `${name}:\n  base_url: ${baseUrl}\n`);
  const folder = mkdtempSync(join(tmpdir(), "postern-apps-"));
  const file = join(folder, "apps.yml");
  writeFileSync(file, own + others.join(""), { mode: 0o644 });
  assert.match(guide, /in a file that only its owner may read \(`chmod 600`\)/);
  assert.throws(() => oauthApps.parse(file), /chmod 600/);
  chmodSync(file, 0o600);
  const apps = oauthApps.parse(file);
  rmSync(folder, { recursive: true });
  return apps;
}

describe("the guide of logins, followed", () => {
  let world: SamlWorld;
  let issuer: OwnIssuer;
  let metadata: MetadataServer;
  before(async () => {
    [world, issuer, metadata] = await Promise.all([
      startSamlWorld({}, appsAt),
      startOwnIssuer(),
      startMetadataServer(),
    ]);
    metadata.serve(world.provider.metadata());
  });
  after(async () => {
    await world.stop();
    await issuer.stop();
    metadata.stop();
  });
  beforeEach(() => {
    Object.assign(world.providers, { person: ada, callback: undefined });
  });
  /** Returns an address of the guide, for this server. */
  const told = (first: string, tag = ""): string =>
    (coded(row(first)[1] ?? "")[0] ?? "")
      .replace("https://idp.<domain>", world.origin("idp.localhost"))
      .replace("<tag>", tag);

  for (const title of ["Amazon", "Facebook", "GitHub", "GitLab", "Google", "LinkedIn", "Microsoft", "Twitch"]) {
    for (const http of ["h1", "h2"] as const) {
      it(`the guide of logins, followed for ${title} over ${http}, admits a visitor by the callback that it names, and by no other`, async () => {
        const name = title.toLowerCase();
        const what = row(title)[2] ?? "";
        assert.match(what, /: the callback/);
        const match = `/${name}-${http}`;
        // The provider's configuration is that of the guide's first example.
        await world.route(match, { oauth: { provider: { [name]: client } } });
        world.providers.callback = told("`oauth`, any");
        const arrived = await world.browser(http).visit(world.origin() + match);
        assert.equal(arrived.status, 200, arrived.text);
        assert.equal(seen(arrived)["ngrok-auth-user-id"], ada.id);
        world.providers.callback += "/";
        assert.equal((await world.browser(http).visit(world.origin() + match)).status, 400);
        // "scopes `openid profile email`", in rows that name them.
        const scopes = /scopes `([^`]+)`/.exec(what)?.[1];
        if (scopes !== undefined) assert.equal(world.providers.asked.get("scope"), scopes);
      });
    }
  }

  it("the guide of logins, followed for each provider's peculiarities, matches the results", async () => {
    const at = async (name: string, lists: object, person: Partial<Person>): Promise<string> => {
      const match = `/${name}/${randomUUID()}`;
      await world.route(match, { oauth: { provider: { [name]: { ...client, ...lists } } } });
      world.providers.person = { ...ada, ...person };
      const { status, ...answer } = await world.browser().visit(world.origin() + match);
      return `${status} ${codeOf({ status, ...answer })}`.trim();
    };
    assert.match(row("Facebook")[2] ?? "", /Visitors can leave out their e-mail address/);
    assert.equal(await at("facebook", {}, { email: "" }), "200");
    assert.equal(await at("facebook", { email_addresses: [ada.email] }, { email: "" }), "403 3109");
    assert.match(row("GitHub")[2] ?? "", /`teams` and `organizations` need `read:org`/);
    for (const lists of [{ teams: ["acme/ops"] }, { organizations: ["acme"] }]) {
      assert.equal(await at("github", lists, {}), "403 3105");
      assert.ok(world.providers.asked.get("scope")?.split(" ").includes("read:org"));
    }
    assert.match(
      row("Google")[2] ?? "",
      /`email_domains` admit addresses that the domain's Workspace manages, and gmail/,
    );
    const domains = { email_domains: ["example.com", "gmail.com"] };
    assert.equal(await at("google", domains, {}), "403 3105");
    assert.equal(await at("google", domains, { hd: "example.com" }), "200");
    assert.equal(await at("google", domains, { email: "ada@gmail.com" }), "200");
    assert.match(row("Microsoft")[2] ?? "", /add the optional claim `xms_edov` to the ID token, else 3104/);
    const tenant = "11111111-2222-3333-4444-555555555555";
    assert.equal(await at("microsoft", { email_addresses: [ada.email] }, { tenant }), "403 3104");
    assert.equal(await at("microsoft", { email_addresses: [ada.email] }, { tenant, edov: true }), "200");
  });

  it("the guide of logins, followed for an issuer, logs a visitor in and out by the addresses that it names, and by no others", async () => {
    const addresses = (await world.platform.api("GET", `/login_addresses?issuer=${encodeURIComponent(issuer.url)}`))
      .body;
    const tag = String(addresses.redirect_uri).slice(-8);
    const [callback, loggedOut, backchannel] = ["`oidc`", "`oidc`, log-out", "`oidc`, back-channel"].map((one) =>
      told(one, tag),
    );
    assert.deepEqual([callback, loggedOut], [addresses.redirect_uri, addresses.post_logout_redirect_uri]);
    issuer.configuration = { end_session_endpoint: `${issuer.url}/end` };
    issuer.callbacks = [callback as string, loggedOut as string];
    await world.route("/oidc", { oidc: { issuer: issuer.url, client_id: "c", client_secret: "s" } });
    const url = `${world.origin()}/oidc`;
    const browser = world.browser();
    assert.equal((await browser.visit(url)).status, 200);
    const headers = { origin: world.origin() };
    const left = await browser.visit(`${world.origin()}/.postern/logout`, { method: "POST", body: "", headers });
    assert.equal(left.url, loggedOut);
    assert.match(left.text, /You are logged out/);
    assert.equal((await browser.visit(url)).status, 200);
    const now = Math.floor(Date.now() / 1000);
    const events = { "http://schemas.openid.net/event/backchannel-logout": {} };
    const claims = { iss: issuer.url, aud: "c", sub: "ada", iat: now, exp: now + 60, jti: randomUUID(), events };
    const body = `logout_token=${issuer.sign(claims, { typ: "logout+jwt" })}`;
    assert.equal((await browser.ask(backchannel as string, { method: "POST", body })).status, 200);
    assert.equal((await browser.ask(url, { headers: { accept: "text/html" } })).status, 302);
    issuer.callbacks = [`${callback}/`];
    assert.equal((await browser.visit(url)).status, 400);
  });

  it("the guide of logins, followed for one app for the whole server, logs in and sends its tokens to no service", async () => {
    const managed = (name: string): string => `/managed-${name}`;
    for (const name of ["github", "facebook", "twitch"]) {
      await world.route(managed(name), { oauth: { provider: { [name]: {} } } });
    }
    await world.route("/managed-own", { oauth: { provider: { github: client } } });
    const visit = (path: string) => world.browser().visit(world.origin() + path);
    for (const [path, token] of [
      [managed("github"), false],
      [managed("facebook"), false],
      ["/managed-own", true],
    ] as const) {
      const arrived = await visit(path);
      assert.equal(arrived.status, 200, `${path} ${arrived.text}`);
      assert.equal("ngrok-auth-oauth-access-token" in seen(arrived), token, path);
    }
    const version = /graph_version: (v\S+)/.exec(guide)?.[1] as string;
    assert.ok(world.providers.calls.some((call) => call.includes(`/${version}/`)));
    assert.match(guide, /A route whose provider has no app returns 500, and the edge's problems name the route\./);
    assert.equal((await visit(managed("twitch"))).status, 500);
    const request = { method: "GET", url: world.origin() + managed("twitch") };
    const { text } = await world.platform.api("POST", `/edges/https/${world.edgeId}/explain`, request);
    assert.match(text, /there is no app for twitch/);
  });

  describe("the guide of logins, followed for SAML", () => {
    /** Returns the provider's registered values, by the provider's names for them. */
    const registeredBy = (shown: Readonly<Record<string, string>>, words: Registration): SamlRouteUrls => ({
      entity_id: valueCalled(shown, words.identifier),
      assertion_consumer_service_url: valueCalled(shown, words.reply),
      single_logout_url: words.logout === undefined ? "" : valueCalled(shown, words.logout),
      request_signing_certificate_pem:
        words.certificate === undefined
          ? (shown["request_signing_certificate_pem"] ?? "")
          : valueCalled(shown, words.certificate),
    });
    /** Returns the value of the module that the guide lists under a provider's name for it. */
    const valueCalled = (shown: Readonly<Record<string, string>>, word: string): string => {
      const lines = guide.split("\n").filter((line) => /^\| `(?:entity_id|assertion|single|request|nameid)/.test(line));
      const found = lines.filter((line) => {
        const [, called = ""] = line.split("|").slice(1);
        return called
          .split(/[,;:]/)
          .some((one) => one.trim() !== "" && word.toLowerCase().includes(one.trim().toLowerCase()));
      });
      assert.equal(found.length, 1, `the guide says which value "${word}" is`);
      return shown[coded(found[0] as string)[0] as string] as string;
    };
    interface Registration {
      readonly identifier: string;
      readonly reply: string;
      readonly logout?: string;
      readonly certificate?: string;
    }
    /** Adds a route as in the guide, and returns the provider's registered values. */
    const routeFor = async (match: string, url: string, more: object = {}) => {
      const id = await world.route(match, { saml: { idp_metadata_url: url, ...more } });
      const shown = (await world.platform.api("GET", `/edges/https/${world.edgeId}/routes/${id}/saml`)).body;
      const at = world.origin() + match;
      // Without metadata, the route reports it.
      await eventually(
        () => world.browser().ask(at, { headers: { accept: "text/html" } }),
        ({ status }) => status === 302,
      );
      return { shown: shown as Readonly<Record<string, string>>, url: at };
    };
    const outcome = async (url: string, told: SamlRouteUrls, says: AnswerOptions): Promise<string> => {
      const arrived = await world.provider.signIn(world.browser(), url, told, says);
      return `${arrived.status} ${codeOf(arrived)}`.trim();
    };
    /** Checks that the guide's row of a provider contains all its names that are used here. */
    const has = (title: string, ...words: readonly string[]): void => {
      for (const word of words) assert.ok(row(title).join(" ").includes(`_${word}_`), `${title}: ${word}`);
    };
    const emailAddress = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
    const microsoft = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims";

    it("the guide of logins, followed for SAML with Entra ID, admits people with the format and the claim that it names", async () => {
      const words = {
        identifier: "Identifier (Entity ID)",
        reply: "Reply URL (Assertion Consumer Service URL)",
        logout: "Logout Url",
      };
      has("Microsoft Entra ID", ...Object.values(words), "App Federation Metadata Url", "Persistent");
      const format = coded(row("Microsoft Entra ID")[2] ?? "").find((one) => one.endsWith(":emailAddress"));
      assert.equal(format, emailAddress);
      const claims = { [`${microsoft}/emailaddress`]: ["ada@example.com"], [`${microsoft}/name`]: ["Ada"] };
      const groups = (name: string) => ({ ...claims, [name]: ["5f1e", "staff"] });
      const said = { format, nameId: "ada@example.com", attributes: groups("groups") };
      const own = await routeFor("/entra", metadata.url);
      assert.equal(await outcome(own.url, registeredBy(own.shown, words), { said }), "403 5305");
      assert.equal(
        await outcome(own.url, registeredBy(own.shown, words), { said: { ...said, format: persistent } }),
        "200",
      );
      const changed = await routeFor("/entra-mail", metadata.url, {
        nameid_format: format,
        authorized_groups: ["staff"],
      });
      const told = registeredBy(changed.shown, words);
      assert.equal(await outcome(changed.url, told, { said }), "200");
      const named = groups("http://schemas.microsoft.com/ws/2008/06/identity/claims/groups");
      assert.equal(await outcome(changed.url, told, { said: { ...said, attributes: named } }), "403 5312");
      const arrived = await world.provider.signIn(world.browser(), changed.url, told, { said });
      assert.equal(seen(arrived)["ngrok-auth-user-email"], "ada@example.com");
      assert.equal(seen(arrived)["ngrok-auth-user-name"], "Ada");
    });

    it("the guide of logins, followed for SAML with Okta, logs in and out, and accepts nothing encrypted", async () => {
      const words = {
        identifier: "Audience URI (SP Entity ID)",
        reply: "Single sign-on URL",
        certificate: "Signature Certificate",
      };
      has("Okta", ...Object.values(words), "Metadata URL", "Unencrypted", "Name ID format", "Enable Single Logout");
      const { shown, url } = await routeFor("/okta", metadata.url, { authorized_groups: ["staff"] });
      const told = registeredBy(shown, words);
      assert.match(shown["nameid_format"] ?? "", new RegExp(`${valueCalled(shown, "Name ID format")}$`));
      const both = { parts: ["Assertion", "Response"] } as const;
      assert.equal(await outcome(url, told, both), "200");
      assert.equal(await outcome(url, told, { ...both, said: { attributes: { groups: ["guests"] } } }), "403 5312");
      const browser = world.browser();
      const sent = await browser.visit(url, { stop: isAtIdp });
      const body = new URLSearchParams(world.provider.answer(world.provider.read(sent, told), told));
      const plain = Buffer.from(body.get("SAMLResponse") ?? "", "base64").toString();
      const sealed = plain
        .replace(/<saml:Assertion .*<\/saml:Assertion>/s, "<saml:EncryptedAssertion/>")
        .replace("<samlp:Response", `<samlp:Response xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"`);
      const encrypted = formBody("SAMLResponse", sealed, body.get("RelayState") ?? "");
      const refused = await browser.visit(told.assertion_consumer_service_url, { method: "POST", body: encrypted });
      assert.equal(`${refused.status} ${codeOf(refused)}`, "403 5328");
      await world.provider.signIn(browser, url, told, both);
      const headers = { origin: world.origin() };
      const left = await browser.ask(`${world.origin()}/.postern/logout`, { method: "POST", body: "", headers });
      // Signed with the registered certificate. Another one would not verify.
      assert.match(world.provider.read(left, told).xml, /<samlp:LogoutRequest /);
    });

    it("the guide of logins, followed for SAML with Keycloak, logs in by the route's own metadata, with either signature and short group names", async () => {
      has("Keycloak", "Import client", "Sign documents", "Sign assertions", "Encrypt assertions", "Full group path");
      const place = coded(row("Keycloak")[1] ?? "").find((one) => one.endsWith("/descriptor")) ?? "";
      const address = place.replace("https://<host>", new URL(metadata.url).origin).replace("<realm>", "staff");
      const { shown, url } = await routeFor("/keycloak", address, { authorized_groups: ["staff"] });
      const { text } = await world.browser().ask(shown["metadata_url"] ?? "");
      const one = (form: RegExp): string => form.exec(text)?.[1] ?? "";
      const told = {
        entity_id: one(/ entityID="([^"]+)"/),
        assertion_consumer_service_url: one(/AssertionConsumerService [^>]*Location="([^"]+)"/),
        single_logout_url: one(/SingleLogoutService [^>]*Location="([^"]+)"/),
        request_signing_certificate_pem: `-----BEGIN CERTIFICATE-----\n${one(/X509Certificate>([^<]+)</)}\n-----END CERTIFICATE-----\n`,
      };
      assert.equal(await outcome(url, told, { parts: ["Response"] }), "200");
      assert.equal(await outcome(url, told, { parts: ["Assertion"] }), "200");
      assert.equal(await outcome(url, told, { parts: [] }), "403 5305");
      assert.equal(await outcome(url, told, { said: { attributes: { groups: ["/staff"] } } }), "403 5312");
      const posted = world.provider.metadata({ redirect: undefined, post: "https://id.example/sso" });
      const forced = await world.samlRoute("/keycloak-post", { idp_metadata: posted });
      const page = await world.browser().visit(`${world.origin()}/keycloak-post`);
      assert.match(world.provider.read(page, forced).xml, /<samlp:AuthnRequest /);
    });
  });
});
