/** When a person confirms a client that is not a browser, and attacks on the way to a code. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "node:test";
import type { Browser, Visited } from "../support/browser.ts";
import { codeOf, startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import {
  askForm,
  authorizationUrl,
  codeFor,
  decide,
  discover,
  exchange,
  json,
  logIn,
  received,
  redirectUri,
  register,
  tokensFor,
} from "../support/oauth-client.ts";
import type { Asked } from "../support/oauth-client.ts";
import type { Person } from "../support/oauth-providers.ts";

const ada: Person = { id: "4711", name: "Ada Lovelace", login: "ada", email: "ada@example.com", verified: true };
const remote = "https://client.example/callback";
const bearer = (token: string) => ({ accept: "application/json", authorization: `Bearer ${token}` });

for (const http of ["h1", "h2"] as const) {
  describe(`the consent of a person over ${http}`, { timeout: 240_000 }, () => {
    let world: LoginWorld;
    const route = async (path: string, more: object): Promise<void> => {
      const machine_clients = { enabled: true, redirect_uris: [remote], scopes: ["access", "write"], ...more };
      await world.route(path, { oauth: { provider: { github: {} }, machine_clients } });
    };
    before(async () => {
      world = await startLoginWorld();
      Object.assign(world.providers, { person: ada });
      await route("/once", { consent: "once" });
      await route("/always", { consent: "always" });
      await route("/never", { consent: "never", registration: ["listed"], client_ids: ["robot"] });
      await route("/listed", { registration: ["listed"], client_ids: ["robot", "second"] });
    });
    after(() => world.stop());
    const asked = async (one: Browser, path: string, clientId?: string, uri = remote): Promise<Asked> => {
      const { server, resource } = await discover(one, world.origin() + path);
      return { server, resource, clientId: clientId ?? (await register(one, server, [uri])), redirectUri: uri };
    };
    /** The consent page, or the answer that leads back to the client without one. */
    const begin = async (one: Browser, wanted: Asked): Promise<Visited> =>
      await logIn(one, authorizationUrl(wanted).url, wanted.redirectUri);
    const isPage = (answer: Visited): boolean => answer.status === 200 && answer.text.includes('name="ticket"');

    it(`I9: the consent of a person over ${http} is asked once per client, redirect URI and scopes`, async () => {
      const one = world.browser(http);
      const wanted = await asked(one, "/once");
      assert.ok(isPage(await begin(one, wanted)));
      const tokens = await tokensFor(one, wanted);
      assert.equal(received(await begin(one, wanted)).get("error"), null, "no page for the same client");
      assert.ok(isPage(await begin(one, { ...wanted, scope: "access write" })), "more scopes");
      const second = { ...wanted, clientId: await register(one, wanted.server, [remote, redirectUri]) };
      assert.ok(isPage(await begin(one, second)), "another client");
      assert.ok(
        isPage(await begin(one, await asked(one, "/once", undefined, redirectUri))),
        "the person's own machine",
      );
      world.providers.person = { ...ada, id: "666", email: "eve@example.com" };
      assert.ok(isPage(await begin(world.browser(http), wanted)), "another person");
      world.providers.person = ada;
      await askForm(one, wanted.server.revocation_endpoint, {
        token: tokens.refresh_token,
        client_id: wanted.clientId,
      });
      const { body } = await world.platform.api("GET", "/app/sessions?limit=100");
      for (const { id } of body.application_sessions as { id: string }[]) {
        await world.platform.api("DELETE", `/app/sessions/${id}`);
      }
      assert.ok(isPage(await begin(one, wanted)), "a revoked client asks again");
    });

    it(`I9: the consent of a person over ${http} is asked for each login with "always"`, async () => {
      const one = world.browser(http);
      const wanted = await asked(one, "/always");
      for (let round = 0; round < 2; round += 1) {
        assert.ok(isPage(await begin(one, wanted)));
        await tokensFor(one, wanted);
      }
    });

    it(`I9: the consent of a person over ${http} is never asked for clients that the route lists with "never"`, async () => {
      const one = world.browser(http);
      const wanted = await asked(one, "/never", "robot");
      assert.ok(received(await begin(one, wanted)).get("code"));
      const { access_token } = await tokensFor(one, wanted);
      assert.equal((await one.ask(`${world.origin()}/never`, { headers: bearer(access_token) })).status, 200);
      const clients = ["second", await register(one, wanted.server, [remote]), "https://client.example/metadata.json"];
      for (const clientId of clients) {
        const { status, headers } = await one.ask(authorizationUrl({ ...wanted, clientId }).url);
        assert.equal(`${status} ${String(headers.location)}`, "400 undefined", clientId);
      }
    });

    it(`I9: a listed client over ${http} gets a code only at its redirect URIs`, async () => {
      const one = world.browser(http);
      const wanted = await asked(one, "/listed", "second");
      assert.ok(isPage(await begin(one, wanted)));
      for (const uri of ["https://client.example/callback2", "https://evil.example/callback"]) {
        assert.equal((await one.ask(authorizationUrl({ ...wanted, redirectUri: uri }).url)).status, 400, uri);
      }
    });

    it(`I8: a code over ${http} without its verifier is refused, as is a downgrade of PKCE`, async () => {
      const one = world.browser(http);
      const wanted = await asked(one, "/always");
      for (const changes of [
        { code_challenge: undefined, code_challenge_method: undefined },
        { code_challenge_method: undefined },
        { code_challenge_method: "plain" },
        { code_challenge: "short" },
      ]) {
        const back = received(await one.ask(authorizationUrl({ ...wanted, changes }).url));
        assert.deepEqual([back.get("error"), back.get("code")], ["invalid_request", null]);
      }
      for (const verifier of ["", "x", "challenge"]) {
        const code = await codeFor(one, wanted);
        const sent =
          verifier === "challenge" ? createHash("sha256").update(code.verifier).digest("base64url") : verifier;
        assert.equal((await exchange(one, wanted, { ...code, verifier: sent })).status, 400, verifier);
        assert.equal((await exchange(one, wanted, code)).status, 400, "the code is used up");
      }
    });

    it(`I8: a code over ${http} that is injected into another login is refused (code injection, mix-up)`, async () => {
      const [attacker, victim] = [world.browser(http), world.browser(http)];
      const wanted = await asked(attacker, "/always");
      const stolen = await codeFor(attacker, wanted);
      const own = authorizationUrl(wanted);
      assert.equal((await exchange(victim, wanted, { code: stolen.code, verifier: own.verifier })).status, 400);
      const back = received(await decide(victim, await begin(victim, wanted), "allow"));
      assert.equal(back.get("iss"), wanted.server.issuer, "the client can tell who has answered (RFC 9207)");
      const account = (await world.platform.api("POST", "/accounts", { name: `other-${http}` })).body;
      const issuer = wanted.server.issuer.replace(/ac_\w+$/, account.id);
      const foreign = json(
        await victim.ask(issuer.replace("/oauth/", "/.well-known/oauth-authorization-server/oauth/")),
      ) as Asked["server"];
      assert.equal(foreign.issuer, issuer);
      const code = await codeFor(victim, wanted);
      assert.equal((await exchange(victim, { ...wanted, server: foreign }, code)).status, 400);
      const mixed = await victim.ask(authorizationUrl({ ...wanted, server: foreign }).url);
      assert.equal(`${mixed.status} ${codeOf(mixed)}`, "400 3173", "a resource of another account");
    });

    it(`I9: parameters over ${http} that occur twice, and requests by reference, give no code`, async () => {
      const one = world.browser(http);
      const wanted = await asked(one, "/never", "robot");
      const { url } = authorizationUrl(wanted);
      for (const more of [
        "redirect_uri=https%3A%2F%2Fevil.example%2Fcb",
        "client_id=evil",
        "code_challenge=x",
        "resource=https%3A%2F%2Fevil.example",
        "request=eyJ",
        "request_uri=https%3A%2F%2Fevil.example",
        "response_mode=fragment",
      ]) {
        for (const query of [`${url}&${more}`, url.replace("?", `?${more}&`)]) {
          const answer = await logIn(one, query, "https://client.example/");
          const location = answer.headers.location ?? "";
          assert.ok(!location.startsWith("https://evil.example"), location);
          assert.ok(!/[?&#]code=/.test(location), `${more}: ${answer.status} ${location}`);
        }
      }
    });
  });
}
