/** The guide of logins, walked: what it says is registered as it says it, at providers that take nothing else. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, beforeEach, describe, it } from "node:test";
import { codeOf, seen, startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import { clientId, clientSecret } from "../support/oauth-providers.ts";
import type { Person } from "../support/oauth-providers.ts";
import { startOwnIssuer } from "../support/own-issuer.ts";
import type { OwnIssuer } from "../support/own-issuer.ts";

const guide = readFileSync(new URL("../../docs/guides/logins.md", import.meta.url), "utf8");
const ada: Person = { id: "4711", name: "Ada", login: "ada", email: "ada@example.com", verified: true };
const client = { client_id: clientId, client_secret: clientSecret };

/** The cells of a row of the guide, by its first. */
function row(first: string): readonly string[] {
  const line = guide.split("\n").find((one) => one.startsWith(`| ${first} `));
  assert.ok(line, `the guide has a row "${first}"`);
  return line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

const coded = (text: string): readonly string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);

describe("the guide of logins, walked", () => {
  let world: LoginWorld;
  let issuer: OwnIssuer;
  before(async () => {
    [world, issuer] = await Promise.all([startLoginWorld(), startOwnIssuer()]);
  });
  after(async () => {
    await world.stop();
    await issuer.stop();
  });
  beforeEach(() => {
    Object.assign(world.providers, { person: ada, callback: undefined });
  });
  /** An address of the guide, for this server. */
  const told = (first: string, tag = ""): string =>
    (coded(row(first)[1] ?? "")[0] ?? "")
      .replace("https://idp.<domain>", world.origin("idp.localhost"))
      .replace("<tag>", tag);

  for (const title of ["Amazon", "Facebook", "GitHub", "GitLab", "Google", "LinkedIn", "Microsoft", "Twitch"]) {
    for (const http of ["h1", "h2"] as const) {
      it(`the guide of logins, walked for ${title} over ${http}, lets a visitor in by the callback that it names, and by no other`, async () => {
        const name = title.toLowerCase();
        const what = row(title)[2] ?? "";
        assert.match(what, /: the callback/);
        const match = `/${name}-${http}`;
        // As its first example sets a provider.
        await world.route(match, { oauth: { provider: { [name]: client } } });
        world.providers.callback = told("`oauth`, any");
        const arrived = await world.browser(http).visit(world.origin() + match);
        assert.equal(arrived.status, 200, arrived.text);
        assert.equal(seen(arrived)["ngrok-auth-user-id"], ada.id);
        world.providers.callback += "/";
        assert.equal((await world.browser(http).visit(world.origin() + match)).status, 400);
        // "scopes `openid profile email`", where it names them.
        const scopes = /scopes `([^`]+)`/.exec(what)?.[1];
        if (scopes !== undefined) assert.equal(world.providers.asked.get("scope"), scopes);
      });
    }
  }

  it("the guide of logins, walked for what each provider is different in, comes to what it says", async () => {
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

  it("the guide of logins, walked for an issuer, lets a visitor in and out by the addresses that it names, and by no others", async () => {
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
});
