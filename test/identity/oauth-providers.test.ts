import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { codeOf, names, seen, startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import { clientId, clientSecret } from "../support/oauth-providers.ts";
import type { Person } from "../support/oauth-providers.ts";

const ada: Person = { id: "4711", name: "Ada Lovelace", login: "ada", email: "ada@example.com", verified: true };

describe("OAuth providers", () => {
  let world: LoginWorld;
  const routes = new Map<string, string>();
  before(async () => {
    world = await startLoginWorld();
    for (const name of names) {
      routes.set(name, await world.route(`/${name}`, { oauth: { provider: { [name]: {} } } }));
    }
  });
  after(() => world.stop());
  beforeEach(() => {
    Object.assign(world.providers, {
      person: ada,
      failure: undefined,
      declines: undefined,
      returns: {},
      claims: (claims: object) => claims,
    });
  });
  const lists = (name: string, change: object) =>
    world.change(routes.get(name) as string, { oauth: { provider: { [name]: change } } });
  const open = (name: string, http?: "h1" | "h2") => world.browser(http).visit(`${world.origin()}/${name}/a?b=1`);

  for (const name of names) {
    for (const http of ["h1", "h2"] as const) {
      it(`OAuth providers admit by ${name} over ${http}, and send the service the identity`, async () => {
        const arrived = await open(name, http);
        assert.equal(arrived.status, 200, arrived.text);
        assert.equal(arrived.url, `${world.origin()}/${name}/a?b=1`);
        const headers = seen(arrived);
        assert.equal(headers["ngrok-auth-user-id"], "4711");
        assert.equal(headers["ngrok-auth-user-email"], "ada@example.com");
        assert.equal(headers["ngrok-auth-user-name"], name === "twitch" ? "ada" : "Ada Lovelace");
        // The server's own app: no service gets its tokens.
        assert.equal(headers["ngrok-auth-oauth-access-token"], undefined);
        assert.equal(headers["cookie"], undefined);
        assert.equal(headers["postern-assertion"]?.split(".").length, 3);
      });
    }

    it(`OAuth providers send the token of a tenant's app at ${name} to the service`, async () => {
      await lists(name, { client_id: clientId, client_secret: clientSecret });
      const arrived = await open(name);
      assert.equal(arrived.status, 200, arrived.text);
      assert.match(seen(arrived)["ngrok-auth-oauth-access-token"] ?? "", /^at-/);
      await lists(name, {});
    });

    it(`OAuth providers compare e-mail lists only with the address from ${name}`, async () => {
      await lists(name, { email_addresses: ["ada@example.com"] });
      assert.equal((await open(name)).status, 200);
      await lists(name, { email_addresses: ["eve@example.com"], email_domains: ["ample.com", "com"] });
      const refused = await open(name);
      assert.equal(`${refused.status} ${codeOf(refused)}`, "403 3105");
      assert.match(refused.text, /signed in as ada@example.com/);
      assert.doesNotMatch(refused.text, /eve@example.com|ample\.com</);
      await lists(name, {});
    });

    it(`I5: OAuth providers admit no address with two "@" or beyond ASCII from ${name}`, async () => {
      await lists(name, { email_domains: ["example.com"] });
      for (const email of ["eve@evil.org@example.com", "evé@example.com", "@example.com", "eve@sub.example.com"]) {
        world.providers.person = { ...ada, email };
        assert.equal(codeOf(await open(name)), "3105", email);
      }
      await lists(name, {});
    });
  }

  for (const name of ["github", "gitlab", "google", "linkedin", "microsoft", "twitch"] as const) {
    it(`I5: OAuth providers reject an address that ${name} has not verified`, async () => {
      await lists(name, { email_addresses: ["ada@example.com"] });
      world.providers.person = { ...ada, verified: false, tenant: "11111111-2222-3333-4444-555555555555" };
      const refused = await open(name);
      assert.equal(`${refused.status} ${codeOf(refused)}`, "403 3104");
      await lists(name, {});
    });
  }

  it("I5: OAuth providers accept Microsoft's address only from tenants that have proven its domain", async () => {
    await lists("microsoft", { email_addresses: ["ada@example.com"] });
    const tenant = "11111111-2222-3333-4444-555555555555";
    for (const [edov, expected] of [
      [undefined, "3104"],
      [false, "3104"],
      [true, ""],
    ] as const) {
      world.providers.person = { ...ada, tenant, ...(edov !== undefined && { edov }) };
      assert.equal(codeOf(await open("microsoft")), expected, String(edov));
    }
    // The issuer must match the token's own tenant.
    world.providers.claims = (claims) => ({
      ...claims,
      iss: "https://login.microsoftonline.com/22222222-2222-3333-4444-555555555555/v2.0",
    });
    assert.equal(codeOf(await open("microsoft")), "3164");
    await lists("microsoft", {});
  });

  const tenant = "https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0";
  const issuers = {
    gitlab: ["https://gitlab.com"],
    google: ["https://accounts.google.com"],
    microsoft: [tenant, "https://login.microsoftonline.com/{tenantid}/v2.0"],
    twitch: ["https://id.twitch.tv/oauth2"],
  } as const;
  const strangers = [
    "https://evil.example",
    "",
    "https://accounts.google.com.evil.example",
    `${tenant}/`,
    `x${tenant}`,
  ];
  const comeFrom = async (name: (typeof names)[number], iss: string): Promise<string> => {
    const { providers } = world;
    providers.returns = { iss };
    const { length } = providers.calls;
    const answer = await open(name);
    const asked = providers.calls.slice(length).some((call) => call.startsWith("POST "));
    return `${answer.status} ${codeOf(answer)} ${asked ? "asked" : "not asked"}`;
  };
  for (const [name, own] of Object.entries(issuers) as [keyof typeof issuers, readonly string[]][]) {
    it(`I1: OAuth providers' visitors who return with another issuer than ${name} are rejected without a call`, async () => {
      for (const iss of own) assert.equal(await comeFrom(name, iss), "200  asked", iss);
      const others = Object.entries(issuers).flatMap(([other, urls]) => (other === name ? [] : urls));
      for (const iss of [...strangers, ...others]) assert.equal(await comeFrom(name, iss), "400 3124 not asked", iss);
    });
  }

  it("OAuth providers without a known issuer admit visitors who return with any issuer", async () => {
    for (const name of names) {
      if (!(name in issuers)) assert.equal(await comeFrom(name, "https://issuer.example"), "200  asked", name);
    }
  });

  it("I5: OAuth providers require Google's hd claim for a domain, except for gmail.com", async () => {
    await lists("google", { email_domains: ["example.com", "gmail.com"] });
    for (const [person, expected] of [
      [{ ...ada }, "3105"],
      [{ ...ada, hd: "other.com" }, "3105"],
      [{ ...ada, hd: "example.com" }, ""],
      [{ ...ada, email: "ada@gmail.com" }, ""],
    ] as const) {
      world.providers.person = person;
      assert.equal(codeOf(await open("google")), expected, JSON.stringify(person));
    }
    await lists("google", {});
  });

  it("OAuth providers find GitHub's teams and organizations on later pages", async () => {
    const organizations = Array.from({ length: 150 }, (_, at) => `Org${at}`);
    const teams = Array.from({ length: 230 }, (_, at) => ({ id: 1000 + at, slug: `team-${at}`, organization: "Acme" }));
    world.providers.person = { ...ada, organizations, teams };
    for (const [change, expected] of [
      [{ organizations: ["org149"] }, ""],
      [{ organizations: ["org150"] }, "3105"],
      [{ teams: ["acme/team-229"] }, ""],
      [{ teams: ["1229"] }, ""],
      [{ teams: ["acme/team-230", "other/team-1"] }, "3105"],
    ] as const) {
      await lists("github", change);
      const answer = await open("github");
      assert.equal(codeOf(answer), expected, JSON.stringify(change));
      if (expected === "") assert.equal(seen(answer)["postern-auth-groups"], Object.values(change).flat()[0]);
    }
    await lists("github", {});
  });

  it("I5: OAuth providers distinguish GitHub's organizations from teams, whatever their names", async () => {
    const team = { id: 4711, slug: "ops", organization: "Acme" };
    for (const [person, list, expected] of [
      [{ organizations: ["4711"] }, { teams: ["4711"] }, "3105"],
      [{ organizations: ["#4711"] }, { teams: ["4711"] }, "3105"],
      [{ organizations: ["acme/ops"] }, { teams: ["acme/ops"] }, "3105"],
      [{ organizations: ["4711"] }, { organizations: ["4711"] }, ""],
      [{ teams: [team] }, { organizations: ["4711"] }, "3105"],
      [{ teams: [team] }, { organizations: ["acme/ops"] }, "3105"],
      [{ teams: [team] }, { organizations: ["@4711", "#4711"] }, "3105"],
      [{ teams: [team] }, { teams: ["4711"] }, ""],
      [{ teams: [team] }, { teams: ["ACME/ops"] }, ""],
    ] as const) {
      world.providers.person = { ...ada, ...person };
      await lists("github", list);
      assert.equal(codeOf(await open("github")), expected, JSON.stringify([person, list]));
    }
    await lists("github", {});
  });

  it("OAuth providers request another account with their own parameters, if they have any", async () => {
    for (const [name, expected] of [
      ["facebook", { auth_type: "reauthenticate" }],
      ["github", { prompt: "select_account" }],
      ["google", { prompt: "select_account" }],
      ["microsoft", { prompt: "select_account" }],
      ["twitch", { force_verify: "true" }],
    ] as const) {
      await world.browser().visit(`${world.origin()}/.postern/login?prompt=select_account&path=/${name}`);
      const { asked } = world.providers;
      for (const [parameter, value] of Object.entries(expected)) assert.equal(asked.get(parameter), value, name);
    }
  });

  it("OAuth providers report errors as stable codes, and the reason only in the trace", async () => {
    const { providers } = world;
    for (const [declines, expected] of [
      ["access_denied", "403 3114"],
      ["redirect_uri_mismatch", "502 3115"],
      ["unauthorized_client", "502 3125"],
      ["invalid_scope", "502 3126"],
      ["whatever", "502 3112"],
    ] as const) {
      providers.declines = declines;
      const answer = await open("google");
      assert.equal(`${answer.status} ${codeOf(answer)}`, expected, declines);
    }
    providers.declines = undefined;
    for (const [failure, expected] of [
      [{ status: 500 }, "502 3166"],
      [{ status: 503 }, "503 3165"],
      [{ status: 429 }, "503 3161"],
      [{ status: 302, headers: { location: "/elsewhere" } }, "502 3163"],
      [{ status: 200, headers: { "content-type": "text/html" }, body: "<html>" }, "502 3163"],
      [{ status: 200, headers: { "content-encoding": "br" }, body: "x" }, "502 3163"],
      [{ status: 200, body: '{"access_token":"a","access_token":"b"}' }, "502 3163"],
      [{ status: 200, body: '{"error":"invalid_client"}' }, "502 3125"],
      [{ status: 400, body: '{"error":"invalid_grant"}' }, "502 3163"],
      [{ status: 200, body: `{"access_token":"${"x".repeat(70_000)}"}` }, "502 3160"],
    ] as const) {
      providers.failure = failure;
      const before = providers.calls.length;
      const answer = await open("google");
      assert.equal(`${answer.status} ${codeOf(answer)}`, expected, JSON.stringify(failure).slice(0, 100));
      assert.ok(!providers.calls.slice(before).some((call) => call.includes("/elsewhere")));
    }
  });
});
