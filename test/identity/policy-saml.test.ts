/** SAML logins required by rules of traffic policies, on real traffic. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import type { RefusalName } from "../../src/lib/errors.ts";
import type { Browser, Visited } from "../support/browser.ts";
import { protocols } from "../support/http-client.ts";
import { codeOf, seen } from "../support/login-world.ts";
import type { ApiBody } from "../support/platform.ts";
import { startSamlWorld } from "../support/saml-world.ts";
import type { SamlWorld } from "../support/saml-world.ts";

type Urls = Awaited<ReturnType<SamlWorld["ruleUrls"]>>;

const html = { accept: "text/html" };
const isAtIdp = (url: string): boolean => url.startsWith("https://id.example/");

function told({ status, ...visited }: Visited): string {
  return `${status} ${codeOf({ status, ...visited })}`.trim();
}

/** Returns a refusal in the form of `told`. */
function refused(status: number, name: RefusalName): string {
  return `${status} ${errorCode(name).replace("ERR_POSTERN_", "")}`;
}

const results = {
  type: "add-headers",
  config: {
    headers: {
      "x-who": "${actions.ngrok.saml.identity.provider_user_id} ${actions.ngrok.saml.identity.email}",
      "x-session": "${actions.ngrok.saml.identity.current_session_id}",
      "x-groups": "${actions.ngrok.saml.groups.join('+')}",
    },
  },
};

let world: SamlWorld;
let own: Urls;
let staff: Urls;
const at = (path: string): string => world.origin() + path;
const saml = (config: object = {}): object => ({
  type: "saml",
  config: { idp_metadata: world.provider.metadata(), ...config },
});
const policyOf = (...rules: readonly object[]): object => {
  const whole = rules.map((rule) => ("actions" in rule ? rule : { actions: [rule] }));
  return { traffic_policy: { value: JSON.stringify({ on_http_request: whole }) } };
};
before(async () => {
  world = await startSamlWorld();
  own = await world.ruleUrls(await world.route("/", policyOf(saml(), results)));
  const listed = { authorized_groups: ["staff", "board"], allow_idp_initiated: false, auth_id: "staff" };
  staff = await world.ruleUrls(await world.route("/staff", policyOf(saml(listed))), "staff");
});
after(() => world.stop());

for (const http of protocols) {
  describe(`a rule's SAML login, over ${http}`, () => {
    const browser = (): Browser => world.browser(http);
    const post = (one: Browser, body: string, to: Urls): Promise<Visited> =>
      one.visit(to.assertion_consumer_service_url, { method: "POST", body });
    const sent = async (path: string, one = browser()) => ({
      one,
      page: await one.visit(at(path), { stop: isAtIdp }),
    });
    const isIn = async (one: Browser, path: string): Promise<boolean> =>
      (await one.ask(at(path), { headers: html })).status === 200;

    it(`a rule's SAML login, over ${http} leads to the provider and back, and later rules read it`, async () => {
      const one = browser();
      const arrived = await world.provider.signIn(one, at("/a?b=1"), own);
      assert.equal(`${told(arrived)} ${arrived.url}`, `200 ${at("/a?b=1")}`, arrived.text);
      const headers = seen(arrived);
      assert.equal(headers["ngrok-auth-user-id"], "ada");
      assert.equal(headers["x-who"], "ada ada@example.com");
      assert.match(String(headers["x-session"]), /^appses_/);
      assert.equal(headers["x-groups"], "staff+admins");
      assert.equal(headers["cookie"], undefined);
      assert.equal(await isIn(one, "/"), true);
    });

    it(`a rule's SAML login, over ${http} admits only members of its groups`, async () => {
      assert.equal((await world.provider.signIn(browser(), at("/staff"), staff)).status, 200);
      const guest = { said: { attributes: { groups: ["Staff", "guests"] } } };
      assert.equal(
        told(await world.provider.signIn(browser(), at("/staff"), staff, guest)),
        refused(403, "saml_group"),
      );
    });

    it(`I4: a rule's SAML login, over ${http} accepts a response once, in the browser that started`, async () => {
      const { one, page } = await sent("/");
      const body = world.provider.answer(world.provider.read(page, own), own);
      assert.equal(told(await post(browser(), body, own)), refused(400, "login_no_flow"), "another browser");
      assert.equal(told(await post(one, body, own)), refused(403, "saml_assertion"), "the same answer again");
    });

    it(`I4: a rule's SAML login, over ${http} rejects a response for another rule, route or module`, async () => {
      const module = await world.samlRoute(`/module-${http}`);
      const beside = policyOf(
        { expressions: [`req.url.path == '/two-${http}/a'`], actions: [saml({ auth_id: "a" })] },
        saml({ auth_id: "b" }),
      );
      const two = await world.route(`/two-${http}`, beside);
      const [a, b] = [await world.ruleUrls(two, "a"), await world.ruleUrls(two, "b")];
      const { provider } = world;
      for (const [path, mine, other] of [
        ["/", own, staff],
        ["/", own, module],
        [`/module-${http}`, module, own],
        [`/two-${http}/x`, b, a],
        [`/two-${http}/x`, b, own],
      ] as const) {
        const { one, page } = await sent(path);
        const asked = provider.read(page, mine);
        assert.equal(told(await post(one, provider.answer(asked, mine), other)), refused(403, "saml_assertion"));
        assert.equal(told(await post(one, provider.answer(asked, other), other)), refused(400, "saml_relay_state"));
        assert.equal(
          told(await post(one, provider.answer(asked, { ...mine, entity_id: other.entity_id }), mine)),
          refused(403, "saml_assertion"),
        );
        assert.equal(told(await post(one, provider.answer(asked, mine), mine)), "200");
      }
    });

    it(`a rule's SAML login, over ${http} is shared with no other auth_id, route or module`, async () => {
      const module = await world.samlRoute(`/apart-${http}`);
      const one = browser();
      await world.provider.signIn(one, at("/"), own);
      for (const path of ["/staff", `/apart-${http}`]) assert.equal(await isIn(one, path), false, path);
      await world.provider.signIn(one, at(`/apart-${http}`), module);
      await world.provider.signIn(one, at("/staff"), staff);
      for (const path of ["/", "/staff", `/apart-${http}`]) assert.equal(await isIn(one, path), true, path);
      const headers = { origin: world.origin() };
      await one.ask(`${at("/ngrok/logout")}?auth_id=staff`, { method: "POST", body: "", headers });
      assert.deepEqual([await isIn(one, "/staff"), await isIn(one, "/")], [false, true]);
    });

    it(`R6: a rule's SAML login, over ${http} ends only if the rules before it admit the request`, async () => {
      const blocked = { expressions: ["'blocked' in getReqHeader('x-from')"], actions: [{ type: "deny" }] };
      const never = { expressions: [`req.url.path == '/guarded-${http}/never'`], actions: [{ type: "deny" }] };
      const guarded = await world.ruleUrls(await world.route(`/guarded-${http}`, policyOf(blocked, never, saml())));
      const { one, page } = await sent(`/guarded-${http}/x`);
      const body = world.provider.answer(world.provider.read(page, guarded), guarded);
      const on = await one.ask(guarded.assertion_consumer_service_url, { method: "POST", body });
      const callback = String(on.headers.location);
      assert.equal((await one.ask(callback, { headers: { ...html, "x-from": "blocked" } })).status, 403);
      assert.equal(await isIn(one, `/guarded-${http}/x`), false);
      const begun = world.provider.answer(undefined, guarded, { relayState: at(`/guarded-${http}/never`) });
      assert.equal((await post(browser(), begun, guarded)).status, 403);
    });

    it(`a rule's SAML login, over ${http} starts at the provider if the rule allows it`, async () => {
      const begun = (url: string, to = own): string => world.provider.answer(undefined, to, { relayState: url });
      const one = browser();
      assert.equal((await post(one, begun(at("/begun?a=1")), own)).url, at("/begun?a=1"));
      assert.equal(await isIn(one, "/"), true);
      assert.equal(told(await post(browser(), begun(at("/staff"), staff), staff)), refused(403, "saml_unsolicited"));
      assert.equal(told(await post(browser(), begun(at("/staff")), own)), refused(400, "saml_relay_route"));
      const body = begun(at("/once"));
      await post(browser(), body, own);
      assert.equal(told(await post(browser(), body, own)), refused(403, "saml_assertion"), "once");
    });

    it(`a rule's SAML login, over ${http} requests new credentials if configured`, async () => {
      const forced = await world.ruleUrls(await world.route(`/forced-${http}`, policyOf(saml({ force_authn: true }))));
      const { one, page } = await sent(`/forced-${http}`);
      const asked = world.provider.read(page, forced);
      assert.match(asked.xml, / ForceAuthn="true"/);
      const early = { said: { authnInstant: Date.now() - 600_000 } };
      const late = world.provider.answer(asked, forced, early);
      assert.equal(told(await post(one, late, forced)), refused(403, "saml_assertion"));
    });

    it(`a rule's SAML login, over ${http} also ends at the provider, and by the provider's signed request`, async () => {
      const one = browser();
      await world.provider.signIn(one, at("/"), own);
      const headers = { origin: world.origin() };
      const left = await one.ask(at("/.postern/logout"), { method: "POST", body: "", headers });
      assert.match(world.provider.read(left, own).xml, /<samlp:LogoutRequest /);
      assert.equal(await isIn(one, "/"), false);
      const other = browser();
      await world.provider.signIn(other, at("/"), own);
      const spaces =
        'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"';
      const ending = (to: Urls, id: string): string =>
        world.provider.redirectTo(
          own.single_logout_url,
          "SAMLRequest",
          `<samlp:LogoutRequest ${spaces} ID="${id}" Version="2.0" IssueInstant="${new Date().toISOString()}" Destination="${to.single_logout_url}"><saml:Issuer>${world.provider.entityId}</saml:Issuer><saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">ada</saml:NameID></samlp:LogoutRequest>`,
        );
      const wrong = await browser().visit(ending(staff, `_w-${http}`));
      assert.equal(told(wrong), refused(400, "saml_logout_message"));
      assert.equal(await isIn(other, "/"), true);
      const done = await browser().visit(ending(own, `_l-${http}`), { stop: isAtIdp });
      assert.match(world.provider.read(done, own).xml, /<samlp:LogoutResponse /);
      assert.equal(await isIn(other, "/"), false);
    });

    it(`a rule's SAML login, over ${http} is explained with the address registered at the provider`, async () => {
      const request = { method: "GET", url: at("/"), headers: html };
      const explained = await world.platform.api("POST", `/edges/https/${world.edgeId}/explain`, request);
      assert.ok(explained.text.includes(own.assertion_consumer_service_url), explained.text);
      const as = { email: "ada@example.com", groups: ["board"] };
      const described = await world.platform.api("POST", `/edges/https/${world.edgeId}/explain`, { ...request, as });
      assert.match(described.text, /everyone who has logged in has access/);
      assert.match(described.text, /x-groups.*board/s);
    });
  });
}

describe("a rule's SAML login", () => {
  const policy = (config: object): string =>
    JSON.stringify({
      on_http_request: [
        { actions: [{ type: "saml", config: { idp_metadata: world.provider.metadata(), ...config } }] },
      ],
    });
  const routeWith = (match: string, config: object = {}): Promise<string> =>
    world.route(match, { traffic_policy: { value: policy(config) } });

  it("a rule's SAML login preserves its key, sessions and logins in progress over a restart", async () => {
    const id = await routeWith("/kept");
    const urls = await world.ruleUrls(id);
    const [one, two] = [world.browser(), world.browser()];
    await world.provider.signIn(one, at("/kept"), urls);
    const page = await two.visit(at("/kept/later"), { stop: isAtIdp });
    const body = world.provider.answer(world.provider.read(page, urls), urls);
    await world.platform.restart();
    assert.deepEqual(await world.ruleUrls(id), urls);
    assert.equal((await one.ask(at("/kept"), { headers: html })).status, 200);
    const arrived = await two.visit(urls.assertion_consumer_service_url, { method: "POST", body });
    assert.equal(arrived.url, at("/kept/later"), arrived.text);
    const list = async (): Promise<ApiBody[]> =>
      (await world.platform.api("GET", "/app/sessions?limit=100")).body.application_sessions.filter(
        ({ route }: ApiBody) => route?.id === id,
      );
    const listed = await list();
    assert.equal(listed.length, 2);
    for (const session of listed) await world.platform.api("DELETE", `/app/sessions/${session.id}`);
    assert.equal((await one.ask(at("/kept"), { headers: html })).status, 302);
    assert.deepEqual(await list(), []);
  });

  it("K4: a rule's SAML login never returns its private key through the API", async () => {
    const id = await routeWith("/secret");
    await world.ruleUrls(id);
    for (const path of [`/edges/https/${world.edgeId}/routes/${id}`, "/login_keys", "/requests?limit=100"]) {
      const { text } = await world.platform.api("GET", path);
      assert.doesNotMatch(text, /PRIVATE KEY/, path);
    }
  });

  it("R6: a rule's SAML login is closed if its configuration contains another rule's address", async () => {
    const other = await world.ruleUrls(await routeWith("/other"));
    for (const [path, config, field] of [
      ["/entity", { entity_id: other.entity_id }, "entity_id"],
      ["/acs", { assertion_consumer_service_url: "https://app.example.com/acs" }, "assertion_consumer_service_url"],
    ] as const) {
      const id = await routeWith(path, config);
      const answer = await world.browser().visit(at(path));
      assert.equal(answer.status, 500, path);
      const request = { method: "GET", url: at(path) };
      const explained = await world.platform.api("POST", `/edges/https/${world.edgeId}/explain`, request);
      assert.match(explained.text, new RegExp(`${field} must be omitted, or be [^ ]+/saml/${id}-rule`));
    }
    const id = await routeWith("/same");
    const own = await world.ruleUrls(id);
    const { entity_id, assertion_consumer_service_url } = own;
    await world.change(id, { traffic_policy: { value: policy({ entity_id, assertion_consumer_service_url }) } });
    assert.equal((await world.provider.signIn(world.browser(), at("/same"), own)).status, 200);
  });

  it("a rule's SAML login reports metadata that is not usable", async () => {
    await routeWith("/empty", { idp_metadata: world.provider.metadata({ certificates: [] }) });
    const answer = await world.browser().visit(at("/empty"));
    assert.equal(told(answer), refused(500, "saml_metadata"));
  });

  it("a rule's SAML login checks sessions against its current groups", async () => {
    const id = await routeWith("/changing");
    const urls = await world.ruleUrls(id);
    const one = world.browser();
    await world.provider.signIn(one, at("/changing"), urls);
    for (const [group, answer] of [
      ["board", refused(403, "saml_group")],
      ["admins", "200"],
    ]) {
      await world.change(id, { traffic_policy: { value: policy({ authorized_groups: [group] }) } });
      assert.equal(told(await one.ask(at("/changing"), { headers: html })), answer);
    }
  });

  it("a rule's SAML login is separate for each endpoint if several share one URL", async () => {
    const url = "https://pooled.localhost";
    const made = [];
    for (let count = 0; count < 2; count += 1) {
      const answer = { actions: [{ type: "custom-response", config: { body: String(count) } }] };
      const { on_http_request: rules } = JSON.parse(policy({})) as { on_http_request: object[] };
      const traffic_policy = JSON.stringify({ on_http_request: [...rules, answer] });
      const given = { type: "cloud", url, pooling_enabled: true, traffic_policy };
      made.push((await world.platform.api("POST", "/endpoints", given)).body.id);
    }
    const one = world.browser();
    for (const id of made) {
      const urls = await world.ruleUrls(id);
      const origin = world.origin("pooled.localhost");
      const body = world.provider.answer(undefined, urls, { relayState: `${origin}/x` });
      const on = await one.ask(urls.assertion_consumer_service_url, { method: "POST", body });
      assert.equal(new URL(String(on.headers.location)).origin, origin, on.text);
      assert.equal((await one.ask(String(on.headers.location), { headers: html })).status, 303);
    }
    const answers = new Set<string>();
    // Fifty choices between two endpoints never all select the same one.
    for (let count = 0; count < 50; count += 1) {
      const { status, text } = await one.ask(`${world.origin("pooled.localhost")}/`, { headers: html });
      answers.add(`${status} ${text}`);
    }
    assert.deepEqual([...answers].sort(), ["200 0", "200 1"]);
  });

  it("a rule's SAML login works the same at cloud endpoints and routes", async () => {
    const { platform } = world;
    const value = JSON.stringify({
      on_http_request: [
        { actions: [{ type: "saml", config: { idp_metadata: world.provider.metadata() } }] },
        { actions: [{ type: "custom-response", config: { body: "${actions.ngrok.saml.identity.email}" } }] },
      ],
    });
    const made = await platform.api("POST", "/endpoints", {
      type: "cloud",
      url: "https://cloud.localhost",
      traffic_policy: value,
    });
    assert.equal(made.status, 201, made.text);
    const urls = await world.ruleUrls(made.body.id);
    for (const http of protocols) {
      const one = world.browser(http);
      const url = `${world.origin("cloud.localhost")}/x`;
      const arrived = await world.provider.signIn(one, url, urls);
      assert.deepEqual([arrived.status, arrived.text, arrived.url], [200, "ada@example.com", url]);
      const begun = world.provider.answer(undefined, urls, { relayState: url });
      const other = await world.browser(http).visit(urls.assertion_consumer_service_url, {
        method: "POST",
        body: begun,
      });
      assert.deepEqual([other.status, other.url], [200, url]);
    }
  });
});
