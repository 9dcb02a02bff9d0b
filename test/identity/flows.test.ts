import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { databases } from "../support/postgres.ts";
import { codeOf, seen, startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import type { Browser, Visited } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import type { Person } from "../support/oauth-providers.ts";

const ada: Person = { id: "4711", name: "Ada Lovelace", login: "ada", email: "ada@example.com", verified: true };
const html = { accept: "text/html" };
const isCallback = (url: string): boolean => url.includes("/.postern/callback?");
const isAtIdp = (url: string): boolean => url.includes("/oauth2/callback");

let world: LoginWorld;
before(async () => {
  world = await startLoginWorld();
  await world.route("/", { oauth: { provider: { github: {} } } });
  await world.route("/api", { oauth: { provider: { github: { email_addresses: ["grace@example.com"] } } } });
  await world.route("/own", { oauth: { provider: { github: {} }, cookie_prefix: "own." } });
  await world.route("/google", { oauth: { provider: { google: {} } } });
  await world.route("/pub", {});
});
after(() => world.stop());

for (const http of ["h1", "h2"] as const) {
  describe(`a login in progress, over ${http}`, () => {
    beforeEach(() => {
      Object.assign(world.providers, { person: ada, failure: undefined, declines: undefined });
    });
    const browser = (): Browser => world.browser(http);
    const at = (path: string): string => world.origin() + path;
    const tokenCalls = (): number => world.providers.calls.filter((call) => call.includes("access_token")).length;
    /** Returns the callback's URL on the visited host, which no one has opened yet. */
    const callbackOf = async (one: Browser, path = "/"): Promise<string> => {
      const stopped = await one.visit(at(path), { stop: isCallback });
      return String(stopped.headers.location);
    };

    it(`I2: a login in progress, over ${http} ends in no other browser, and calls no provider there`, async () => {
      const callback = await callbackOf(browser());
      const before = tokenCalls();
      const other = browser();
      const refused = await other.ask(callback, { headers: html });
      assert.equal(`${refused.status} ${codeOf(refused)}`, "400 3121");
      await callbackOf(other, "/");
      assert.equal(codeOf(await other.ask(callback, { headers: html })), "3121");
      assert.equal(tokenCalls(), before);
    });

    it(`I2: a login in progress, over ${http} is finished once`, async () => {
      const one = browser();
      const stopped = await one.visit(at("/"), { stop: isCallback });
      const callback = String(stopped.headers.location);
      const name = one.cookieNames(callback).find((cookie) => cookie.includes("nonce")) as string;
      const value = one.cookies(callback).split(`${name}=`)[1]?.split(";")[0] as string;
      assert.equal((await one.ask(callback, { headers: html })).status, 303);
      one.setCookie(callback, name, value);
      const before = tokenCalls();
      assert.equal(codeOf(await one.ask(callback, { headers: html })), "3123");
      assert.equal(tokenCalls(), before);
    });

    it(`I2: a login in progress, over ${http} rejects a state that is missing, altered, doubled or of another host`, async () => {
      const one = browser();
      const callback = new URL(await callbackOf(one));
      const state = callback.searchParams.get("state") as string;
      const before = tokenCalls();
      const flipped = state.slice(0, 20) + (state[20] === "A" ? "B" : "A") + state.slice(21);
      const idp = world.origin("idp.localhost");
      for (const [query, expected] of [
        ["code=x", "3107"],
        [`code=x&state=${flipped}`, "3108"],
        [`code=x&state=${state.slice(0, -4)}`, "3108"],
        [`code=x&state=${state}&state=${state}`, "3108"],
        [`code=x&state=${"A".repeat(8000)}`, "3108"],
      ] as const) {
        assert.equal(
          codeOf(await one.ask(`${at("/.postern/callback")}?${query}`, { headers: html })),
          expected,
          query.slice(0, 40),
        );
        const switched = await one.ask(`${idp}/oauth2/callback?${query}`, { headers: html });
        assert.equal(
          `${switched.status} ${codeOf(switched)}`,
          `400 ${expected}`,
          "no redirect without a state of ours",
        );
        assert.equal(switched.headers.location, undefined);
      }
      const elsewhere = `${world.origin("other.localhost")}/.postern/callback?code=x&state=${state}`;
      assert.equal(codeOf(await one.ask(elsewhere, { headers: html })), "3124");
      // At the path of an issuer: the URL to which a hostile issuer would send its victims.
      const mixed = await one.ask(`${idp}/oauth2/callback/abcdefgh?code=x&state=${state}`, { headers: html });
      assert.equal(codeOf(mixed), "3124");
      assert.equal(tokenCalls(), before);
    });

    it(`a login in progress, over ${http} fails if the callback has both an error and a code`, async () => {
      const one = browser();
      const callback = new URL(await callbackOf(one));
      callback.searchParams.set("error", "access_denied");
      const before = tokenCalls();
      assert.equal(codeOf(await one.ask(callback.href, { headers: html })), "3114");
      assert.equal(tokenCalls(), before);
    });

    it(`I3: a login in progress, over ${http} returns only to paths of its own host`, async () => {
      const hostile = [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example/",
        "\\\\evil.example",
        "/%0d%0aset-cookie:x=1",
        "/\t/evil.example",
        "javascript:alert(1)",
        "/.//evil.example",
        "/..//evil.example",
        "@evil.example",
        "",
      ];
      for (const path of hostile) {
        const one = browser();
        const arrived = await one.visit(`${at("/.postern/login")}?path=${encodeURIComponent(path)}`);
        const { origin } = new URL(arrived.url);
        assert.equal(origin, world.origin(), path);
        for (const url of one.asked) assert.ok(!url.includes("//evil.example"), url);
      }
    });

    it(`a login in progress, over ${http} redirects only navigations: other requests get 401, and posted forms get an error`, async () => {
      const count = world.received.length;
      for (const [options, expected] of [
        [{ headers: { accept: "application/json" } }, "401 3100"],
        [{ headers: { "sec-fetch-mode": "cors", "sec-fetch-site": "same-origin", accept: "*/*" } }, "401 3100"],
        [{ headers: { "x-requested-with": "XMLHttpRequest" } }, "401 3100"],
        [{ headers: { accept: "text/event-stream" } }, "401 3100"],
        [{ headers: { "sec-fetch-mode": "navigate", "sec-purpose": "prefetch" } }, "401 3100"],
        [{ method: "OPTIONS" }, "401 3100"],
        [{ method: "POST", body: "{}", headers: { "content-type": "application/json" } }, "401 3100"],
        [{ method: "POST", body: "a=1", headers: { "sec-fetch-mode": "navigate", ...html } }, "401 3129"],
        [
          { headers: { "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe", "sec-fetch-site": "cross-site" } },
          "401 3100",
        ],
        [{ headers: { "sec-fetch-mode": "navigate" } }, "302 "],
        [{}, "302 "],
      ] as const) {
        const answer = await browser().ask(at("/x"), options);
        assert.equal(`${answer.status} ${codeOf(answer)}`, expected, JSON.stringify(options));
        assert.equal(answer.headers["cache-control"], "no-store");
        if (answer.status !== 401) continue;
        assert.match(String(answer.headers["www-authenticate"]), /^Login url="https:\/\/app\.localhost:/);
        assert.equal(answer.headers["access-control-allow-origin"], undefined);
      }
      assert.equal(world.received.length, count);
    });

    it(`a login in progress, over ${http} is valid for every route of the realm, and each route checks its own lists`, async () => {
      const one = browser();
      assert.equal((await one.visit(at("/"))).status, 200);
      const before = tokenCalls();
      const refused = await one.visit(at("/api/x"));
      assert.equal(`${refused.status} ${codeOf(refused)}`, "403 3105");
      assert.equal(tokenCalls(), before);
      assert.equal(
        (await one.ask(at("/own"), { headers: html })).status,
        302,
        "another cookie prefix is another realm",
      );
      assert.equal((await one.ask(at("/google"), { headers: html })).status, 302, "another provider is another realm");
      assert.equal((await one.visit(at("/own"))).url, at("/own"), "and its login comes to its end");
    });

    it(`I2: a login in progress, over ${http} has sessions that are valid only at their own host and unchanged`, async () => {
      const one = browser();
      await one.visit(at("/"));
      const [name = "", value = ""] =
        one
          .cookies(at("/"))
          .split("; ")
          .find((pair) => pair.includes("session"))
          ?.split("=") ?? [];
      const ask = async (host: string, cookie: string): Promise<number> =>
        (await browser().ask(`${world.origin(host)}/`, { headers: { ...html, cookie } })).status;
      assert.equal(await ask("app.localhost", `${name}=${value}`), 200);
      assert.equal(await ask("other.localhost", `${name}=${value}`), 302);
      assert.equal(await ask("app.localhost", `${name}=${value.slice(0, -1)}`), 302);
      assert.equal(await ask("app.localhost", `${name}=${value.slice(0, -1)}${value.endsWith("A") ? "B" : "A"}`), 302);
      assert.equal(await ask("app.localhost", `${name.replace("service.", "own.")}=${value}`), 302);
      assert.equal(await ask("app.localhost", `${name.slice(7)}=${value}`), 302);
    });

    it(`R3: a login in progress, over ${http} does not send the service any identity from the client's header fields`, async () => {
      const one = browser();
      await one.visit(at("/"));
      const forged =
        "ngrok-auth-user-id Ngrok-Auth-User-Email ngrok_auth_user_id postern-assertion postern-auth-groups".split(" ");
      const headers = Object.fromEntries(forged.map((name) => [name, "eve"]));
      for (const path of ["/", "/pub"]) {
        const answer = await one.ask(at(path), { headers });
        assert.doesNotMatch(answer.text, /eve/, path);
      }
    });

    it(`a login in progress, over ${http} stores at most five flows of a realm in a browser`, async () => {
      const one = browser();
      for (let count = 0; count < 8; count += 1) await one.ask(at(`/${count}`), { headers: html });
      assert.equal(one.cookieNames(at("/")).filter((name) => name.includes("nonce")).length, 5);
    });

    it(`a login in progress, over ${http} stops redirecting if session cookies do not come back`, async () => {
      const one = browser();
      let last: Visited | undefined;
      for (let count = 0; count < 4; count += 1) {
        last = await one.visit(at("/"), { stop: (url) => url === at("/") });
        const name = one.cookieNames(at("/")).find((cookie) => cookie.includes("session"));
        if (name) one.setCookie(at("/"), name, "gone");
      }
      assert.equal(`${last?.status} ${codeOf(last as Visited)}`, "400 3128");
    });

    it(`a login in progress, over ${http} ends after a logout that the visitor intended`, async () => {
      const one = browser();
      await one.visit(at("/"));
      const foreign = { ...html, "sec-fetch-mode": "navigate", "sec-fetch-site": "cross-site" };
      assert.match((await one.ask(at("/.postern/logout"), { headers: foreign })).text, /Log out\?/);
      assert.equal(
        (
          await one.ask(at("/.postern/logout"), {
            method: "POST",
            body: "",
            headers: { origin: "https://evil.example" },
          })
        ).status,
        200,
      );
      assert.equal((await one.ask(at("/"), { headers: html })).status, 200);
      const session = JSON.parse((await one.ask(at("/.postern/session"))).text) as { user: { email: string } };
      assert.equal(session.user.email, "ada@example.com");
      const done = await one.ask(at("/.postern/logout"), {
        method: "POST",
        body: "",
        headers: { origin: world.origin() },
      });
      assert.match(done.text, /You are logged out/);
      assert.deepEqual(one.cookieNames(at("/")), []);
      assert.equal((await one.ask(at("/"), { headers: html })).status, 302);
      assert.equal((await one.ask(at("/.postern/session"))).status, 401);
    });

    it(`a login in progress, over ${http} signs the identity, which the key set verifies`, async () => {
      const { jwtVerify, createLocalJWKSet } = await import("jose");
      const one = browser();
      const answer = await one.visit(at("/"));
      const keys = JSON.parse((await one.ask(`${world.origin("idp.localhost")}/.well-known/jwks.json`)).text) as never;
      const { payload } = await jwtVerify(seen(answer)["postern-assertion"] as string, createLocalJWKSet(keys), {
        issuer: world.origin("idp.localhost"),
        audience: world.origin(),
      });
      assert.equal(payload["email"], "ada@example.com");
      assert.match(String(payload.sub), /^appusr_/);
    });

    it(`a login in progress, over ${http} leaves no cookie, state, code or token in traces`, async () => {
      const one = browser();
      const callback = await callbackOf(one);
      await one.visit(callback);
      await one.visit(at("/api"));
      const cookies = one
        .cookies(at("/"))
        .split("; ")
        .map((pair) => pair.slice(pair.indexOf("=") + 1));
      const { searchParams } = new URL(callback);
      const { text } = await world.platform.api("GET", "/requests?limit=100");
      assert.match(text, /callback/);
      for (const secret of [...cookies, searchParams.get("state"), searchParams.get("code")]) {
        assert.ok(secret !== null && !text.includes(secret), "a secret is in the traces");
      }
    });

    it(`a login in progress, over ${http} is explained by the session and the rule`, async () => {
      const one = browser();
      await one.visit(at("/"));
      const request = { method: "GET", url: at("/api"), headers: { cookie: one.cookies(at("/")) } };
      const told = await world.platform.api("POST", `/edges/https/${world.edgeId}/explain`, request);
      const steps = (told.body.steps ?? []) as { by?: string; module?: string; reason: string }[];
      assert.match(JSON.stringify(steps), /session appses_\w+: not on a list/, JSON.stringify(told.body));
    });
  });
}

for (const { name, create } of databases) {
  describe(`sessions on ${name}`, () => {
    let world: LoginWorld;
    let stop: () => Promise<void>;
    before(async () => {
      const database = await create();
      ({ drop: stop } = database);
      world = await startLoginWorld({ database: database.url });
      await world.route("/", { oauth: { provider: { github: {} }, maximum_duration: 3600 } });
    });
    after(async () => {
      await world.stop();
      await stop();
    });
    const at = (path: string): string => world.origin() + path;
    const list = async (what: string): Promise<Record<string, string>[]> =>
      (await world.platform.api("GET", `/app/${what}`)).body[`application_${what}`];

    it(`sessions on ${name} survive a restart, and so do logins in progress`, async () => {
      const [one, two] = [world.browser(), world.browser()];
      assert.equal((await one.visit(at("/"))).status, 200);
      const stopped = await two.visit(at("/"), { stop: isAtIdp });
      const [before] = await list("sessions");
      await world.platform.restart();
      assert.equal((await one.ask(at("/"), { headers: html })).status, 200);
      assert.equal((await two.visit(String(stopped.headers.location))).status, 200);
      const present = (await list("sessions")).find(({ id }) => id === before?.["id"]);
      assert.equal(present?.["expires_at"], before?.["expires_at"]);
    });

    it(`sessions on ${name} belong to one user for each identity, and leave no trace in the history`, async () => {
      const { revision } = (await world.platform.api("GET", "/revisions?limit=1")).body.revisions[0];
      await world.browser().visit(at("/"));
      await world.browser().visit(at("/"));
      const users = await list("users");
      assert.equal(users.length, 1);
      assert.deepEqual(
        [
          users[0]?.["email"],
          users[0]?.["username"],
          users[0]?.["provider_user_id"],
          (users[0] as never)["identity_provider"],
        ],
        ["ada@example.com", "ada", "4711", { name: "GitHub", url: "https://github.com" }],
      );
      assert.equal((await world.platform.api("GET", "/revisions?limit=1")).body.revisions[0].revision, revision);
    });

    it(`S4: sessions on ${name} start and end without the control plane, which receives them later`, async () => {
      const [one, two] = [world.browser(), world.browser()];
      await two.visit(at("/"));
      const before = (await list("sessions")).map(({ id }) => id);
      await world.platform.stopControlPlane();
      assert.equal((await one.visit(at("/"))).status, 200);
      await two.ask(at("/.postern/logout"), { method: "POST", body: "", headers: { origin: world.origin() } });
      await world.platform.startControlPlane();
      // One session was added and one removed. The first snapshot contains both changes.
      const isTold = async (): Promise<boolean> => {
        const ids = (await list("sessions")).map(({ id }) => id);
        return ids.length === before.length && !before.every((id) => ids.includes(id));
      };
      assert.ok(await eventually(isTold, (now) => now));
      assert.equal((await one.ask(at("/"), { headers: html })).status, 200);
      assert.equal((await two.ask(at("/"), { headers: html })).status, 302);
    });

    it(`sessions on ${name} end with their user`, async () => {
      const [one, two] = [world.browser(), world.browser("h2")];
      for (const each of [one, two]) await each.visit(at("/"));
      const [user] = await list("users");
      assert.equal((await world.platform.api("DELETE", `/app/users/${user?.["id"]}`)).status, 204);
      for (const each of [one, two]) assert.equal((await each.ask(at("/"), { headers: html })).status, 302);
      assert.deepEqual(await list("sessions"), []);
    });

    it(`I2: sessions on ${name} end when their login is removed, and do not return with it`, async () => {
      const id = await world.route("/going", { oauth: { provider: { gitlab: {} } } });
      const one = world.browser();
      assert.equal((await one.visit(at("/going"))).status, 200);
      const of = async (): Promise<number> =>
        (await list("sessions")).filter(({ route }) => (route as never as { id: string }).id === id).length;
      assert.equal(await of(), 1);
      await world.change(id, { oauth: { provider: { github: {} } } });
      assert.equal(await eventually(of, (count) => count === 0), 0);
      await world.change(id, { oauth: { provider: { gitlab: {} } } });
      assert.equal((await one.ask(at("/going"), { headers: html })).status, 302);
      for (const gone of [{ cookie_prefix: "other." }, { enabled: false }]) {
        assert.equal((await one.visit(at("/going"))).status, 200);
        assert.equal(await of(), 1);
        await world.change(id, { oauth: { provider: { gitlab: {} }, ...gone } });
        assert.equal(await eventually(of, (count) => count === 0), 0, JSON.stringify(gone));
      }
      assert.equal((await one.visit(at("/"))).status, 200, "the host's other login");
      await world.platform.api("DELETE", `/edges/https/${world.edgeId}/routes/${id}`);
    });
  });
}
