/** SAML logins at routes of a running platform, as visitors and their provider see them. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { codeOf, seen } from "../support/login-world.ts";
import type { Visited } from "../support/browser.ts";
import { makeSamlProvider } from "../support/saml-provider.ts";
import { signedForms } from "../support/saml-login.ts";
import { startSamlWorld } from "../support/saml-world.ts";
import type { SamlWorld } from "../support/saml-world.ts";

const subject = { "x-subject": "${.ngrok.saml.subject}" };
const html = { accept: "text/html" };
const isAtIdp = (url: string): boolean => url.startsWith("https://id.example/");

function told({ status, ...visited }: Visited): string {
  return `${status} ${codeOf({ status, ...visited })}`.trim();
}

/** Returns a refusal in the form of `told`. */
function refused(status: number, name: Parameters<typeof errorCode>[0]): string {
  return `${status} ${errorCode(name).replace("ERR_POSTERN_", "")}`;
}

for (const http of ["h1", "h2"] as const) {
  describe(`a route with SAML, over ${http}`, () => {
    let world: SamlWorld;
    let route: Awaited<ReturnType<SamlWorld["samlRoute"]>>;
    let staff: typeof route;
    before(async () => {
      // With two edges, each gets some of the requests, which use separate connections over HTTP/1.1.
      world = await startSamlWorld({ edges: http === "h1" ? 2 : 1 });
      const id = await world.route("/", {
        saml: { idp_metadata: world.provider.metadata(), options_passthrough: true },
        request_headers: { add: subject },
      });
      route = { ...(await world.platform.api("GET", `/edges/https/${world.edgeId}/routes/${id}/saml`)).body, id };
      staff = await world.samlRoute("/staff", { authorized_groups: ["staff", "board"], allow_idp_initiated: false });
      await world.route("/pub", { request_headers: { add: subject } });
    });
    after(() => world.stop());
    const at = (path: string): string => world.origin() + path;
    const browser = () => world.browser(http);
    /** Returns a visitor who was redirected to the provider. */
    const sent = async (url: string, one = browser()) => {
      const page = await one.visit(url, { stop: isAtIdp });
      return { one, page };
    };
    const post = (one: ReturnType<typeof browser>, body: string, to = route): Promise<Visited> =>
      one.visit(to.assertion_consumer_service_url, { method: "POST", body });

    it(`a route with SAML, over ${http} admits a visitor who returns with a response, and sends the service the identity`, async () => {
      const one = browser();
      const arrived = await world.provider.signIn(one, at("/a?b=1"), route);
      assert.equal(arrived.url, at("/a?b=1"), `${codeOf(arrived)} ${arrived.text}`);
      assert.equal(arrived.status, 200, arrived.text);
      const headers = seen(arrived);
      assert.equal(headers["ngrok-auth-user-id"], "ada");
      assert.equal(headers["ngrok-auth-user-email"], "ada@example.com");
      assert.equal(headers["ngrok-auth-user-name"], "Ada L%C3%B6we");
      assert.equal(headers["cookie"], undefined);
      assert.equal(headers["postern-auth-groups"], undefined);
      assert.equal(headers["x-subject"], "ada");
      assert.equal((await one.ask(at("/"), { headers: html })).status, 200);
      const unguarded = await one.ask(at("/pub"));
      assert.equal(seen(unguarded)["ngrok-auth-user-id"], undefined);
      assert.equal(seen(unguarded)["cookie"], undefined);
      assert.equal(seen(unguarded)["x-subject"], "");
      const preflight = await one.ask(at("/"), { method: "OPTIONS" });
      assert.deepEqual([preflight.status, seen(preflight)["ngrok-auth-user-id"]], [200, undefined]);
    });

    for (const parts of signedForms) {
      it(`a route with SAML, over ${http} accepts a response with a signed ${parts.join(" and ")}`, async () => {
        assert.equal((await world.provider.signIn(browser(), at("/"), route, { parts })).status, 200);
      });
    }

    it(`a route with SAML, over ${http} redirects with a signed request and a RelayState of at most 80 bytes, and stores nothing of it`, async () => {
      const { page } = await sent(at("/deep?with=query"));
      const asked = world.provider.read(page, route);
      assert.match(asked.xml, /<samlp:AuthnRequest /);
      assert.ok(asked.xml.includes(`Destination="https://id.example/sso"`));
      assert.ok(asked.xml.includes(`AssertionConsumerServiceURL="${route.assertion_consumer_service_url}"`));
      assert.ok(!asked.xml.includes("ForceAuthn"));
      assert.ok(asked.relayState !== undefined && Buffer.byteLength(asked.relayState) <= 80);
    });

    it(`a route with SAML, over ${http} sends a page that posts itself if the provider supports no redirect; the policy allows its script by hash`, async () => {
      const posting = await world.samlRoute("/posting", {
        idp_metadata: world.provider.metadata({ redirect: undefined, post: "https://id.example/post?a=1&b=2" }),
      });
      const { one, page } = await sent(at("/posting/x"));
      assert.equal(page.status, 200);
      assert.ok(page.text.includes('action="https://id.example/post?a=1&amp;b=2"'));
      const policy = String(page.headers["content-security-policy"]);
      assert.match(policy, /default-src 'none'.*script-src 'sha256-[\w+/=]+';.*frame-ancestors 'none'/);
      const script = /<script>(.*)<\/script>/.exec(page.text)?.[1] ?? "";
      const { hash } = process.getBuiltinModule("node:crypto");
      assert.ok(policy.includes(`'sha256-${hash("sha256", script, "base64")}'`));
      assert.match(page.text, /<button>/);
      const arrived = await post(one, world.provider.answer(world.provider.read(page, posting), posting), posting);
      assert.equal(arrived.url, at("/posting/x"), arrived.text);
    });

    it(`a route with SAML, over ${http} admits only members of its groups, and sends the service the groups that it names`, async () => {
      const arrived = await world.provider.signIn(browser(), at("/staff"), staff);
      assert.equal(seen(arrived)["postern-auth-groups"], "staff");
      const other = { said: { attributes: { groups: ["Staff", "staffing", "guests"] } } };
      assert.equal(
        told(await world.provider.signIn(browser(), at("/staff"), staff, other)),
        refused(403, "saml_group"),
      );
    });

    it(`a route with SAML, over ${http} checks a session against its current groups`, async () => {
      const changing = await world.samlRoute("/changing");
      const one = browser();
      await world.provider.signIn(one, at("/changing"), changing);
      const change = (saml: object): Promise<void> =>
        world.change(changing.id, { saml: { idp_metadata: world.provider.metadata(), ...saml } });
      await change({ authorized_groups: ["board"] });
      assert.equal(told(await one.ask(at("/changing"), { headers: html })), refused(403, "saml_group"));
      await change({ authorized_groups: ["admins"] });
      assert.equal(told(await one.ask(at("/changing"), { headers: html })), "200");
    });

    it(`a route with SAML, over ${http} has a separate login: sessions of another route are not valid there`, async () => {
      const one = browser();
      await world.provider.signIn(one, at("/"), route);
      assert.equal((await one.ask(at("/staff"), { headers: html })).status, 302);
    });

    it(`I4: a route with SAML, over ${http} accepts a response once, for its own request, in the browser that started`, async () => {
      const { one, page } = await sent(at("/"));
      const body = world.provider.answer(world.provider.read(page, route), route);
      assert.equal(told(await post(browser(), body)), refused(400, "login_no_flow"), "another browser");
      for (let again = 0; again < 8; again += 1) {
        assert.equal(told(await post(one, body)), refused(403, "saml_assertion"), "the same answer again");
      }
      const [name = "", value = ""] = one.cookies(at("/")).split("=");
      const fresh = world.provider.answer(world.provider.read(page, route), route);
      const arrived = await one.visit(route.assertion_consumer_service_url, { method: "POST", body: fresh });
      assert.equal(told(arrived), "200");
      const again = world.provider.answer(world.provider.read(page, route), route);
      assert.equal(told(await post(one, again)), refused(400, "login_no_flow"), "another answer to the same request");
      one.setCookie(at("/"), name, value);
      const third = world.provider.answer(world.provider.read(page, route), route);
      assert.equal(told(await post(one, third)), refused(400, "login_used"), "the flow cookie kept");
    });

    it(`I4: a route with SAML, over ${http} issues a ticket that is valid only for its own flow, route and host`, async () => {
      const first = await sent(at("/one"));
      const second = await sent(at("/two"), first.one);
      const answer = world.provider.answer(world.provider.read(first.page, route), route);
      const on = await first.one.ask(route.assertion_consumer_service_url, { method: "POST", body: answer });
      assert.equal(on.status, 303);
      const own = new URL(String(on.headers.location));
      const other = await first.one.ask(route.assertion_consumer_service_url, {
        method: "POST",
        body: world.provider.answer(world.provider.read(second.page, route), route),
      });
      const mixed = new URL(String(other.headers.location));
      mixed.searchParams.set("ticket", own.searchParams.get("ticket") ?? "");
      assert.equal(told(await first.one.ask(mixed.href, { headers: html })), refused(400, "login_elsewhere"));
      const elsewhere = new URL(own.href.replace("app.localhost", "other.localhost"));
      assert.equal(told(await first.one.ask(elsewhere.href, { headers: html })), refused(400, "login_elsewhere"));
      const without = new URL(own);
      without.searchParams.delete("state");
      assert.equal(told(await first.one.ask(without.href, { headers: html })), refused(400, "login_state_unreadable"));
      assert.equal((await first.one.visit(own.href)).url, at("/one"));
    });

    it(`I4: a route with SAML, over ${http} rejects a response for another route, of another provider or for no one`, async () => {
      const { page } = await sent(at("/"));
      const asked = world.provider.read(page, route);
      const { provider } = world;
      const stranger = await makeSamlProvider();
      for (const [body, expected, to] of [
        [provider.answer(asked, route), refused(403, "saml_assertion"), staff],
        [provider.answer(asked, staff), refused(400, "saml_relay_state"), staff],
        [
          provider.answer(asked, {
            ...route,
            assertion_consumer_service_url: staff.assertion_consumer_service_url,
          }),
          refused(403, "saml_assertion"),
          route,
        ],
        [provider.answer(asked, { ...route, entity_id: staff.entity_id }), refused(403, "saml_assertion"), route],
        [stranger.answer(asked, route), refused(403, "saml_assertion"), route],
        [provider.answer(asked, route, { parts: [] }), refused(403, "saml_assertion"), route],
        [provider.answer(asked, route, { relayState: "x" }), refused(400, "saml_relay_state"), route],
        [
          provider.answer(asked, route, { said: { status: "urn:oasis:names:tc:SAML:2.0:status:Responder" } }),
          refused(403, "saml_status"),
          route,
        ],
        ["SAMLResponse=x", refused(403, "saml_assertion"), route],
        ["", refused(403, "saml_assertion"), route],
      ] as const) {
        assert.equal(told(await post(browser(), body, to)), expected, body.slice(0, 60));
      }
      const json = await browser().ask(route.assertion_consumer_service_url, {
        method: "POST",
        body: "{}",
        headers: { "content-type": "application/json", ...html },
      });
      assert.equal(told(json), refused(403, "saml_assertion"));
    });

    it(`a route with SAML, over ${http} accepts forms of up to 512 KiB, and no other method`, async () => {
      const long = await browser().ask(route.assertion_consumer_service_url, {
        method: "POST",
        body: `SAMLResponse=${"A".repeat(512 * 1024)}`,
        headers: html,
      });
      assert.equal(told(long), refused(413, "payload_too_large"));
      assert.equal((await browser().ask(route.assertion_consumer_service_url)).status, 405);
      assert.equal((await browser().ask(route.entity_id, { method: "POST", body: "" })).status, 405);
    });

    it(`a route with SAML, over ${http} serves its metadata to providers, unchanged until the route changes`, async () => {
      const shown = await browser().ask(route.entity_id);
      assert.equal(shown.status, 200);
      assert.equal(shown.headers["content-type"], "application/samlmetadata+xml");
      for (const one of [route.entity_id, route.assertion_consumer_service_url, route.single_logout_url]) {
        assert.ok(shown.text.includes(`"${one}"`), one);
      }
      const etag = String(shown.headers.etag);
      const again = await browser().ask(route.entity_id, { headers: { "if-none-match": etag } });
      assert.deepEqual([again.status, again.text], [304, ""]);
      for (const [known, status] of [
        ["*", 304],
        [`W/${etag}`, 304],
        [`"other", ${etag}`, 304],
        ['"other"', 200],
      ] as const) {
        const { status: told } = await browser().ask(route.entity_id, { headers: { "if-none-match": known } });
        assert.equal(told, status, known);
      }
      await world.change(route.id, { saml: { idp_metadata: world.provider.metadata() } });
      assert.equal((await browser().ask(route.entity_id, { headers: { "if-none-match": etag } })).status, 304);
    });

    it(`a route with SAML, over ${http} has other error codes than an unknown route, a route without SAML and an invalid id`, async () => {
      const idp = `${world.origin("idp.localhost")}/saml/`;
      const plain = await world.route("/plain", {});
      const ask = async (path: string): Promise<string> => told(await browser().ask(idp + path, { headers: html }));
      assert.equal(await ask("edghtsrt_2abc"), refused(404, "saml_route_unknown"));
      assert.equal(await ask(plain), refused(404, "saml_module_absent"));
      assert.equal(await ask("a.b"), refused(404, "saml_id_malformed"));
      assert.equal(await ask(`${route.id}/other`), "404");
    });

    it(`a route with SAML, over ${http} requests new credentials if configured, and if the visitor requests a new login`, async () => {
      const forced = await world.samlRoute("/forced", { force_authn: true });
      const first = await sent(at("/forced"));
      const asked = world.provider.read(first.page, forced);
      assert.match(asked.xml, / ForceAuthn="true"/);
      const early = { said: { authnInstant: Date.now() - 600_000 } };
      const body = world.provider.answer(asked, forced, early);
      assert.equal(told(await post(first.one, body, forced)), refused(403, "saml_assertion"));
      const one = browser();
      await world.provider.signIn(one, at("/"), route);
      const again = await sent(`${at("/.postern/login")}?path=/again`, one);
      const anew = world.provider.read(again.page, route);
      assert.match(anew.xml, / ForceAuthn="true"/);
      assert.equal(told(await post(one, world.provider.answer(anew, route, early))), refused(403, "saml_assertion"));
      const third = await sent(`${at("/.postern/login")}?path=/again`, one);
      const late = await post(one, world.provider.answer(world.provider.read(third.page, route), route));
      assert.equal(late.url, at("/again"));
      // SAML provides no other way to switch to another person at the provider.
      const other = await sent(`${at("/.postern/login")}?path=/again&prompt=select_account`);
      assert.match(world.provider.read(other.page, route).xml, / ForceAuthn="true"/);
      const plain = await sent(`${at("/.postern/login")}?path=/again`);
      assert.doesNotMatch(world.provider.read(plain.page, route).xml, / ForceAuthn="true"/);
    });

    it(`a route with SAML, over ${http} accepts only names of its format`, async () => {
      const mail = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
      const mailed = await world.samlRoute("/mailed", { nameid_format: mail });
      assert.equal(told(await world.provider.signIn(browser(), at("/mailed"), mailed)), refused(403, "saml_assertion"));
      const named = { said: { nameId: "Grace@Example.com", format: mail, attributes: {} } };
      const arrived = await world.provider.signIn(browser(), at("/mailed"), mailed, named);
      assert.equal(seen(arrived)["ngrok-auth-user-id"], "Grace@Example.com");
      assert.equal(seen(arrived)["ngrok-auth-user-email"], "grace@example.com");
    });

    it(`a route with SAML, over ${http} shows its operator why a response was rejected, and the visitor only a code`, async () => {
      const { page } = await sent(at("/"));
      const body = world.provider.answer(world.provider.read(page, route), route, { said: { audience: "https://x" } });
      const answer = await post(browser(), body);
      assert.doesNotMatch(answer.text, /audience/);
      const id = /request <code>([^<]+)</.exec(answer.text)?.[1];
      const trace = await world.platform.api("GET", `/requests/${id}`);
      assert.match(trace.text, /conditions: the Assertion is for another audience/);
      const { text } = await world.platform.api("GET", "/requests?limit=100");
      assert.ok(!text.includes(body.slice(20, 120)));
    });

    it(`a route with SAML, over ${http} forwards as many groups as fit, starting with those that the route names`, async () => {
      const groups = Array.from({ length: 1_500 }, (_, index) => `group ${index}`);
      const said = { attributes: { groups: [...groups, "board"] } };
      const arrived = await world.provider.signIn(browser(), at("/staff"), staff, { said });
      assert.equal(seen(arrived)["postern-auth-groups"], "board", arrived.text);
      const long = { nameId: "n".repeat(256), attributes: { displayName: ["ö".repeat(256)], groups } };
      assert.equal(told(await world.provider.signIn(browser(), at("/"), route, { said: long })), "200");
    });

    it(`a route with SAML, over ${http} logs visitors in at any host below a wildcard, however long its name is`, async () => {
      const { platform } = world;
      const edge = (await platform.api("POST", "/edges/https", { hostports: ["*.apps.localhost:443"] })).body;
      const made = await platform.api("POST", `/edges/https/${edge.id}/routes`, {
        match_type: "path_prefix",
        match: "/",
        backend: { backend_id: world.backendId },
        saml: { idp_metadata: world.provider.metadata() },
      });
      const long = [`${"a".repeat(40)}.apps.localhost`, `${"b".repeat(63)}.${"c".repeat(63)}.apps.localhost`];
      for (const host of ["one.apps.localhost", "a.b-c.apps.localhost", ...long]) {
        const url = `${world.origin(host)}/x`;
        const arrived = await world.provider.signIn(browser(), url, made.body.saml);
        assert.deepEqual([arrived.status, arrived.url], [200, url], arrived.text);
      }
    });

    it(`a route with SAML, over ${http} is explained by the session`, async () => {
      const one = browser();
      await world.provider.signIn(one, at("/"), route);
      const request = { method: "GET", url: at("/"), headers: { cookie: one.cookies(at("/")) } };
      const explained = await world.platform.api("POST", `/edges/https/${world.edgeId}/explain`, request);
      assert.match(explained.text, /session appses_\w+: everyone who has logged in/);
      const nobody = { method: "GET", url: at("/"), headers: { accept: "text/html" } };
      const turned = await world.platform.api("POST", `/edges/https/${world.edgeId}/explain`, nobody);
      assert.match(turned.text, /no session: sent to id\.example to log in/);
    });
  });
}
