/** Other places with data about a login: header fields that routes add, events of requests, lists of the API. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { createServer } from "../../src/lib/http.ts";
import { issuerTag } from "../../src/identity/browser/realm.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { seen, startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import { clientId, clientSecret } from "../support/oauth-providers.ts";
import { startOpenIdProvider } from "../support/openid.ts";
import type { OpenIdProvider } from "../support/openid.ts";
import type { ApiBody } from "../support/platform.ts";
import { databases } from "../support/postgres.ts";

const add = {
  "x-app": "${.oauth.app_client_id}",
  "x-decision": "${.oauth.decision}",
  "x-user": "${.oauth.user.id} ${.oauth.user.email} ${.oauth.user.name}",
  "x-saml": "[${.ngrok.saml.subject}]",
};

describe("data about a login", { timeout: 60_000 }, () => {
  let world: LoginWorld;
  let openid: OpenIdProvider;
  const events: ApiBody[] = [];
  const receiver = createServer((request, response) => {
    let text = "";
    request.on("data", (bytes: Buffer) => (text += bytes.toString()));
    request.on("end", () => {
      events.push({ ...JSON.parse(text), text });
      response.end();
      receiver.emit("counted");
    });
  });
  before(async () => {
    receiver.listen(0, "127.0.0.1");
    await once(receiver, "listening");
    world = await startLoginWorld();
    const account = (await world.platform.api("GET", "/accounts")).body.accounts[0].id;
    openid = await startOpenIdProvider((issuer) => ({
      clientId: "op-client",
      clientSecret: "op-secret",
      redirectUris: [`${world.origin("idp.localhost")}/oauth2/callback/${issuerTag(account, issuer)}`],
    }));
    const headers = { request_headers: { add }, response_headers: { add } };
    await world.route("/github", { oauth: { provider: { github: {} } }, ...headers });
    const oidc = { issuer: openid.issuer, client_id: "op-client", client_secret: "op-secret" };
    await world.route("/op", { oidc, ...headers });
    await world.route("/pub", headers);
    world.providers.person = { id: "4711", name: "Ada", login: "ada", email: "ada@example.com", verified: true };
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const made = await world.platform.api("POST", "/event_destinations", { target: { webhook: { url } } });
    const sources = [{ type: "http_request_complete.v0" }];
    await world.platform.api("POST", "/event_subscriptions", { sources, destination_ids: [made.body.id] });
  });
  after(async () => {
    await world.stop();
    await openid.stop();
    receiver.closeAllConnections();
    receiver.close();
  });
  const event = async (wanted: (object: ApiBody) => boolean): Promise<ApiBody> => {
    for (;;) {
      const found = events.find(({ object }) => wanted(object));
      if (found) return found;
      await once(receiver, "counted");
    }
  };

  for (const http of ["h1", "h2"] as const) {
    it(`data about a login over ${http} is in variables of header fields, the same for OAuth and OpenID Connect`, async () => {
      const browser = world.browser(http);
      const github = await browser.visit(`${world.origin()}/github`);
      const op = await openid.signIn(browser, await browser.visit(`${world.origin()}/op`), "ada");
      for (const [answer, app, user] of [
        [github, clientId, "4711 ada@example.com Ada"],
        [op, "op-client", "ada ada@example.com Ada Lovelace"],
      ] as const) {
        for (const fields of [seen(answer), answer.headers]) {
          assert.deepEqual(
            [fields["x-app"], fields["x-decision"], fields["x-user"], fields["x-saml"]],
            [app, "allow", user, "[]"],
          );
        }
      }
      const pub = seen(await browser.ask(`${world.origin()}/pub`));
      assert.deepEqual([pub["x-app"] ?? "", pub["x-decision"] ?? "", pub["x-saml"]], ["", "", "[]"]);
    });

    it(`data about a login over ${http} is in the event of each request, without a token`, async () => {
      const browser = world.browser(http);
      await browser.visit(`${world.origin()}/github/${http}`);
      const { object, text } = await event(
        ({ path, status_code }) => path === `/github/${http}` && status_code === 200,
      );
      assert.deepEqual(object.oauth, {
        app_client_id: clientId,
        decision: "allow",
        user: { id: "4711", email: "ada@example.com", name: "Ada" },
      });
      assert.doesNotMatch(text, new RegExp(`at-|${clientSecret}|p1[\\w-]{43}`));
      const sent = await event(({ path, status_code }) => path === `/github/${http}` && status_code === 302);
      assert.deepEqual(sent.object.oauth, { app_client_id: null, decision: "block", user: null });
      await world
        .browser(http)
        .ask(`${world.origin()}/github/json-${http}`, { headers: { accept: "application/json" } });
      const refused = await event(({ path }) => path === `/github/json-${http}`);
      assert.deepEqual(
        [refused.object.oauth.decision, refused.object.error_code, refused.object.outcome],
        ["block", errorCode("login_required"), "denied"],
      );
      await browser.ask(`${world.origin()}/pub/${http}`);
      const pub = await event(({ path }) => path === `/pub/${http}`);
      assert.deepEqual([pub.object.oauth, pub.object.saml], [null, null]);
    });
  }
});

for (const { name, create } of databases) {
  describe(`lists of users and sessions on ${name}`, { timeout: 60_000 }, () => {
    let world: LoginWorld;
    let drop: () => Promise<void>;
    before(async () => {
      const database = await create();
      ({ drop } = database);
      world = await startLoginWorld({ database: database.url });
      await world.route("/", { oauth: { provider: { github: {} } } });
      for (let at = 1; at <= 5; at += 1) {
        const person = { id: String(at), name: `N${at}`, login: `l${at}`, email: `p${at}@example.com`, verified: true };
        world.providers.person = person;
        for (let count = 0; count < (at === 1 ? 2 : 1); count += 1) {
          await world.browser().visit(world.origin(), { headers: { "user-agent": `agent/${at}` } });
        }
      }
    });
    after(async () => {
      await world.stop();
      await drop();
    });
    const get = async (path: string): Promise<ApiBody> => {
      const answer = await world.platform.api("GET", path);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    };
    const filtered = (what: string, filter: string): Promise<ApiBody> =>
      get(`/app/${what}?filter=${encodeURIComponent(filter)}`);

    it(`lists of users and sessions on ${name} have pages without repeated or missing items`, async () => {
      for (const [what, count] of [
        ["users", 5],
        ["sessions", 6],
      ] as const) {
        const ids: string[] = [];
        let next: string | null = `/app/${what}?limit=2`;
        while (next !== null) {
          const page = await get(next);
          assert.ok(page[`application_${what}`].length <= 2);
          ids.push(...page[`application_${what}`].map(({ id }: ApiBody) => id));
          next = page.next_page_uri === null ? null : page.next_page_uri.replace(/^https?:\/\/[^/]+/, "");
        }
        assert.deepEqual([ids.length, new Set(ids).size], [count, count]);
        assert.deepEqual(ids, ids.toSorted().toReversed());
      }
    });

    it(`lists of users and sessions on ${name} are filtered by their fields`, async () => {
      const users = await filtered("users", "obj.email == 'p3@example.com' || obj.username in ['l4']");
      assert.deepEqual(
        users.application_users.map(({ email }: ApiBody) => email),
        ["p4@example.com", "p3@example.com"],
      );
      const user = (await filtered("users", "obj.provider_user_id == '1'")).application_users[0];
      const sessions = await filtered("sessions", `obj.application_user.id == '${user.id}'`);
      assert.equal(sessions.application_sessions.length, 2);
      assert.equal(
        (await filtered("sessions", "obj.public_url.startsWith('https://app.localhost')")).application_sessions.length,
        6,
      );
      for (const secret of ["obj.tokens == ''", "obj.cookie_hash == ''", "obj.login == ''"]) {
        const refused = await world.platform.api("GET", `/app/sessions?filter=${encodeURIComponent(secret)}`);
        assert.equal(refused.status, 400, secret);
      }
    });

    it(`P1: lists of users and sessions on ${name} contain nothing of another account, by filter or by page`, async () => {
      const key = (await world.platform.api("POST", "/accounts", { name: "another" })).body.api_key as string;
      for (const what of ["users", "sessions"]) {
        for (const query of ["", "?filter=true", "?limit=1"]) {
          const answer = await world.platform.api("GET", `/app/${what}${query}`, undefined, key);
          assert.deepEqual(answer.body[`application_${what}`], []);
        }
      }
    });
  });
}
