/** Logins required by rules of traffic policies, on real traffic. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { codeOf, seen, startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import type { Browser } from "../support/browser.ts";
import type { Person } from "../support/oauth-providers.ts";
import { protocols } from "../support/http-client.ts";

const ada: Person = { id: "4711", name: "Ada Lovelace", login: "ada", email: "ada@example.com", verified: true };
const html = { accept: "text/html" };
const isCallback = (url: string): boolean => url.includes("/.postern/callback?");

const oauth = (config: object = {}): object => ({ type: "oauth", config: { provider: "github", ...config } });

/** Returns a policy with these rules, or with one rule for each list of actions. */
function policyOf(...rules: readonly object[]): object {
  const whole = rules.map((rule) => ("actions" in rule ? rule : { actions: [rule] }));
  return { traffic_policy: { value: JSON.stringify({ on_http_request: whole }) } };
}

let world: LoginWorld;
before(async () => {
  world = await startLoginWorld();
  await world.route("/", policyOf(oauth()));
  await world.route("/listed", policyOf(oauth({ email_addresses: ["grace@example.com"] })));
  await world.route("/other", policyOf(oauth({ auth_id: "other" })));
  await world.route("/module", { oauth: { provider: { github: {} } } });
  await world.route(
    "/some",
    policyOf({ expressions: ["req.url.path.endsWith('/private')"], actions: [oauth({ auth_id: "some" })] }),
  );
  const rules = [
    { expressions: ["'blocked' in getReqHeader('x-from')"], actions: [{ type: "deny" }] },
    { expressions: ["req.url.path == '/guarded/never'"], actions: [{ type: "deny" }] },
    oauth({ auth_id: "guarded" }),
  ];
  await world.route("/guarded", policyOf(...rules));
  await world.route("/pub", {});
});
after(() => world.stop());

for (const http of protocols) {
  describe(`a login by a rule, over ${http}`, () => {
    const at = (path: string): string => world.origin() + path;
    const browser = (): Browser => world.browser(http);
    beforeEach(() => {
      Object.assign(world.providers, { person: ada, failure: undefined, declines: undefined });
    });
    const tokenCalls = (): number => world.providers.calls.filter((call) => call.includes("access_token")).length;

    it(`a login by a rule leads through the provider and back, and sends the service the identity, over ${http}`, async () => {
      const one = browser();
      const arrived = await one.visit(at("/a?b=1"));
      assert.equal(`${arrived.status} ${arrived.url}`, `200 ${at("/a?b=1")}`, arrived.text);
      const headers = seen(arrived);
      assert.equal(headers["ngrok-auth-user-id"], "4711");
      assert.equal(headers["ngrok-auth-user-email"], "ada@example.com");
      assert.match(String(headers["postern-assertion"]), /^ey/);
      assert.equal(headers["cookie"], undefined);
      assert.equal((await one.ask(at("/"), { headers: html })).status, 200);
    });

    it(`I2: a login by a rule has cookies that no service on the host receives, over ${http}`, async () => {
      const one = browser();
      await one.visit(at("/"));
      assert.equal(seen(await one.ask(at("/pub")))["cookie"], undefined);
    });

    it(`a login by a rule answers programs with 401 and the address of the login, over ${http}`, async () => {
      const answer = await browser().ask(at("/x"), { headers: { accept: "application/json" } });
      assert.equal(`${answer.status} ${codeOf(answer)}`, "401 3100");
      const arrived = await browser().visit(
        (JSON.parse(answer.text) as { details: { login_url: string } }).details.login_url,
      );
      assert.equal(arrived.url, at("/x"));
    });

    it(`a login by a rule is shared by the routes of a host, and each route checks its own lists, over ${http}`, async () => {
      const one = browser();
      await one.visit(at("/"));
      const before = tokenCalls();
      const refused = await one.visit(at("/listed"));
      assert.equal(`${refused.status} ${codeOf(refused)}`, "403 3105");
      assert.equal(tokenCalls(), before);
    });

    it(`a login by a rule is shared with no other auth_id, and with no module, over ${http}`, async () => {
      const one = browser();
      await one.visit(at("/"));
      for (const path of ["/other", "/module"]) {
        assert.equal((await one.ask(at(path), { headers: html })).status, 302, path);
        const before = tokenCalls();
        assert.equal((await one.visit(at(path))).status, 200, path);
        assert.equal(tokenCalls(), before + 1, path);
      }
    });

    it(`a login by a rule is required only if its rule matches, and returns there, over ${http}`, async () => {
      const one = browser();
      assert.equal((await one.visit(at("/some/public"))).status, 200);
      assert.deepEqual(one.cookieNames(at("/")), []);
      const arrived = await one.visit(at("/some/private"));
      assert.equal(`${arrived.status} ${arrived.url}`, `200 ${at("/some/private")}`);
    });

    it(`R6: a login by a rule is finished only if the rules before it admit the request, over ${http}`, async () => {
      const one = browser();
      const stopped = await one.visit(at("/guarded/x"), { stop: isCallback });
      const callback = String(stopped.headers.location);
      const before = tokenCalls();
      const refused = await one.ask(callback, { headers: { ...html, "x-from": "blocked" } });
      assert.equal(refused.status, 403);
      assert.equal(tokenCalls(), before);
      assert.equal((await browser().ask(at("/guarded/never"), { headers: html })).status, 403);
      assert.equal((await browser().visit(`${at("/.postern/login")}?path=/guarded/never`)).status, 403);
      assert.equal((await browser().visit(at("/guarded/y"))).status, 200);
    });

    it(`a login by a rule is started and ended by its auth_id, over ${http}`, async () => {
      const one = browser();
      const arrived = await one.visit(`${at("/ngrok/login")}?auth_id=other&redirect_path=/other/deep`);
      assert.equal(`${arrived.status} ${arrived.url}`, `200 ${at("/other/deep")}`);
      await one.visit(at("/"));
      const left = await one.ask(`${at("/ngrok/logout")}?auth_id=other`, {
        method: "POST",
        body: "",
        headers: { origin: world.origin() },
      });
      assert.match(left.text, /You are logged out/);
      assert.equal((await one.ask(at("/other"), { headers: html })).status, 302);
      assert.equal((await one.ask(at("/"), { headers: html })).status, 200);
      const unknown = await browser().ask(`${at("/ngrok/login")}?auth_id=nobody`, { headers: html });
      assert.equal(unknown.status, 404);
    });
  });
}
