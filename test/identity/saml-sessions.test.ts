/** Sessions of SAML logins, how they end on both sides, and logins that start at the provider. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import type { Browser, Visited } from "../support/browser.ts";
import { codeOf } from "../support/login-world.ts";
import { databases } from "../support/postgres.ts";
import { findDom, parseDom } from "../support/xml-crypto.ts";
import { startSamlWorld } from "../support/saml-world.ts";
import type { SamlWorld } from "../support/saml-world.ts";

const html = { accept: "text/html" };
const isAtIdp = (url: string): boolean => url.startsWith("https://id.example/");
const success = "urn:oasis:names:tc:SAML:2.0:status:Success";
const unsolicited = { responseInResponseTo: undefined, inResponseTo: undefined };

function told(visited: Visited): string {
  return `${visited.status} ${codeOf(visited)}`.trim();
}

function refused(status: number, name: Parameters<typeof errorCode>[0]): string {
  return `${status} ${errorCode(name).replace("ERR_POSTERN_", "")}`;
}

for (const { name, create } of databases) {
  describe(`logins by SAML, on ${name}`, () => {
    let world: SamlWorld;
    let drop: () => Promise<void>;
    let route: Awaited<ReturnType<SamlWorld["samlRoute"]>>;
    before(async () => {
      const database = await create();
      ({ drop } = database);
      world = await startSamlWorld({ database: database.url });
      route = await world.samlRoute("/", { maximum_duration: 3600, inactivity_timeout: 600 });
    });
    after(async () => {
      await world.stop();
      await drop();
    });
    const at = (path: string): string => world.origin() + path;
    const list = async (what: string) => (await world.platform.api("GET", `/app/${what}`)).body[`application_${what}`];
    const signedIn = async (said: object = {}): Promise<Browser> => {
      const one = world.browser();
      const arrived = await world.provider.signIn(one, at("/"), route, { said });
      assert.equal(arrived.status, 200, arrived.text);
      return one;
    };
    const isIn = async (one: Browser): Promise<boolean> => (await one.ask(at("/"), { headers: html })).status === 200;
    const post = (body: string, one = world.browser(), to = route): Promise<Visited> =>
      one.visit(to.assertion_consumer_service_url, { method: "POST", body });
    const begunThere = (relayState: string | undefined, to = route): string =>
      world.provider.answer(undefined, to, { said: unsolicited, ...(relayState !== undefined && { relayState }) });

    it(`logins by SAML, on ${name} are users and sessions that an operator lists and ends`, async () => {
      const one = await signedIn({ nameId: "grace", sessionNotOnOrAfter: Date.now() + 300_000 });
      await signedIn({ nameId: "grace" });
      const users = (await list("users")).filter(
        (user: { provider_user_id: string }) => user.provider_user_id === "grace",
      );
      assert.equal(users.length, 1);
      assert.deepEqual(users[0].identity_provider, { name: "id.example", url: "https://id.example/saml" });
      assert.deepEqual([users[0].email, users[0].name], ["ada@example.com", "Ada Löwe"]);
      const [newest, first] = await list("sessions");
      assert.equal(newest.route.id, route.id);
      const endsIn = (session: { expires_at: string }): number => Date.parse(session.expires_at) - Date.now();
      assert.ok(endsIn(first) <= 360_000 && endsIn(newest) > 500_000, "the provider's bound ends the session, too");
      await world.platform.api("DELETE", `/app/sessions/${first.id}`);
      assert.equal(await isIn(one), false);
    });

    it(`logins by SAML, on ${name} survive a restart, and so do logins in progress`, async () => {
      const [one, two] = [await signedIn(), world.browser()];
      const page = await two.visit(at("/under/way"), { stop: isAtIdp });
      const body = world.provider.answer(world.provider.read(page, route), route);
      const there = begunThere(at("/begun"));
      assert.equal((await post(there)).url, at("/begun"));
      await world.platform.restart();
      assert.equal(await isIn(one), true);
      assert.equal((await post(body, two)).url, at("/under/way"));
      assert.equal(told(await post(there)), refused(403, "saml_assertion"), "taken before the restart");
    });

    it(`logins by SAML, on ${name} start at the provider if the route allows it, and lead only to the route's addresses`, async () => {
      const closed = await world.samlRoute("/closed", { allow_idp_initiated: false });
      const one = world.browser();
      const body = begunThere(at("/begun?a=1"));
      const arrived = await post(body, one);
      assert.equal(arrived.url, at("/begun?a=1"), `${told(arrived)} ${arrived.text}`);
      assert.equal(await isIn(one), true);
      assert.equal(told(await post(body)), refused(403, "saml_assertion"), "once");
      assert.equal(
        told(await post(begunThere(at("/closed"), closed), world.browser(), closed)),
        refused(403, "saml_unsolicited"),
      );
      for (const elsewhere of [
        "https://evil.example/",
        at("/closed/x"),
        at("/%63losed"),
        at("/a/../closed"),
        "https://app.localhost:1/",
        `https://app.localhost.evil.example:${world.platform.httpsPort}/`,
      ]) {
        assert.equal(told(await post(begunThere(elsewhere))), refused(400, "saml_relay_route"), elsewhere);
      }
      for (const odd of [
        "/begun",
        "http://app.localhost/",
        "javascript:alert(1)",
        "https://user@app.localhost/",
        undefined,
      ]) {
        assert.equal(told(await post(begunThere(odd))), refused(400, "saml_relay_url"), String(odd));
      }
    });

    it(`logins by SAML, on ${name} that start at the provider need no RelayState if the route has everything below a path of a single host`, async () => {
      const { api } = world.platform;
      const routeAt = async (hostport: string, match: object) => {
        const edge = (await api("POST", "/edges/https", { hostports: [hostport] })).body;
        const backend = { backend_id: world.backendId };
        const made = await api("POST", `/edges/https/${edge.id}/routes`, {
          ...match,
          backend,
          saml: { idp_metadata: world.provider.metadata() },
        });
        return { ...made.body.saml, id: made.body.id };
      };
      const below = await routeAt("below.localhost:443", { match_type: "path_prefix", match: "/below" });
      assert.equal(
        (await post(begunThere(undefined, below), world.browser(), below)).url,
        `${world.origin("below.localhost")}/below`,
      );
      for (const several of [
        await routeAt("exact.localhost:443", { match_type: "exact_path", match: "/exact" }),
        await routeAt("*.many.localhost:443", { match_type: "path_prefix", match: "/" }),
      ]) {
        assert.equal(
          told(await post(begunThere(undefined, several), world.browser(), several)),
          refused(400, "saml_relay_url"),
        );
      }
    });

    it(`I4: logins by SAML, on ${name} have a ticket that is valid once`, async () => {
      const one = world.browser();
      const on = await one.ask(route.assertion_consumer_service_url, { method: "POST", body: begunThere(at("/x")) });
      const ticket = String(on.headers.location);
      assert.equal((await one.visit(ticket)).url, at("/x"));
      assert.equal(told(await world.browser().visit(ticket)), refused(400, "login_used"));
      await world.platform.restart();
      assert.equal(told(await world.browser().visit(ticket)), refused(400, "login_used"), "after a restart");
    });

    it(`S4: logins by SAML, on ${name} start at the route without the control plane, but not at the provider`, async () => {
      await world.platform.stopControlPlane();
      try {
        await signedIn();
        assert.equal(told(await post(begunThere(at("/x")))), refused(403, "saml_assertion"));
      } finally {
        await world.platform.startControlPlane();
      }
    });

    it(`logins by SAML, on ${name} also end at the provider, with a signed request and its response`, async () => {
      const one = await signedIn({ sessionIndex: "at the provider" });
      const left = await one.ask(at("/.postern/logout"), {
        method: "POST",
        body: "",
        headers: { origin: world.origin() },
      });
      assert.equal(left.status, 303);
      const asked = world.provider.read(left, route);
      assert.equal(textIn(asked.xml, "NameID"), "ada");
      assert.equal(textIn(asked.xml, "SessionIndex"), "at the provider");
      assert.equal(parseDom(asked.xml).getAttribute("Destination"), "https://id.example/slo");
      assert.equal(await isIn(one), false);
      const answer = (status: string, id = asked.id): string =>
        world.provider.redirectTo(
          route.single_logout_url,
          "SAMLResponse",
          responseXml(route.single_logout_url, id, status),
          asked.relayState,
        );
      assert.match((await one.visit(answer(success))).text, /You are logged out\./);
      const partly = await one.visit(answer("urn:oasis:names:tc:SAML:2.0:status:Responder"));
      assert.match(partly.text, /did not end all of your sessions/);
      assert.equal(told(await one.visit(answer(success, "_other"))), refused(400, "saml_logout_message"));
    });

    it(`logins by SAML, on ${name} are ended by the provider's signed request, without a cookie, and by nothing else`, async () => {
      const [first, second, other] = [
        await signedIn({ sessionIndex: "one" }),
        await signedIn({ sessionIndex: "two" }),
        await signedIn({ nameId: "bob" }),
      ];
      const own = await world.samlRoute("/own");
      const elsewhere = world.browser();
      await world.provider.signIn(elsewhere, at("/own"), own);
      const url = route.single_logout_url;
      const asked = (id: string, index?: string): string => requestXml(url, id, "ada", index);
      const unsigned = world.provider.redirectTo(url, "SAMLRequest", asked("_l0")).replace(/&Signature=.*/, "");
      const { provider } = world;
      for (const wrong of [
        unsigned,
        provider.redirectTo(own.single_logout_url, "SAMLRequest", asked("_l1")),
        provider.redirectTo(url, "SAMLRequest", requestXml(own.single_logout_url, "_l2", "ada")),
      ]) {
        assert.equal(told(await world.browser().visit(wrong)), refused(400, "saml_logout_message"), wrong.slice(0, 80));
      }
      assert.deepEqual(await Promise.all([first, second, other].map(isIn)), [true, true, true]);

      const one = provider.redirectTo(url, "SAMLRequest", asked("_l3", "two"), "theirs");
      const done = await world.browser().visit(one, { stop: isAtIdp });
      assert.equal(done.status, 303);
      const answer = provider.read(done, route);
      assert.equal(answer.relayState, "theirs");
      assert.equal(parseDom(answer.xml).getAttribute("InResponseTo"), "_l3");
      assert.equal(findDom(answer.xml, "StatusCode").getAttribute("Value"), success);
      assert.deepEqual(await Promise.all([first, second, other].map(isIn)), [true, false, true]);
      assert.equal(told(await world.browser().visit(one)), refused(400, "saml_logout_message"), "once");

      const signed = provider.sign(asked("_l4"), "LogoutRequest");
      const body = `SAMLRequest=${encodeURIComponent(Buffer.from(signed).toString("base64"))}`;
      const posted = await world.browser().visit(url, { method: "POST", body, stop: isAtIdp });
      assert.equal(posted.status, 303, posted.text);
      assert.deepEqual(await Promise.all([first, other].map(isIn)), [false, true]);
      assert.equal((await elsewhere.ask(at("/own"), { headers: html })).status, 200, "another route's session");
      const left = (await list("sessions")).filter(
        (session: { route: { id: string } | null }) => session.route?.id === route.id,
      );
      assert.equal(left.length >= 1, true);
    });

    it(`logins by SAML, on ${name} are ended by the provider while the control plane is down`, async () => {
      const one = await signedIn({ nameId: "eve" });
      await world.platform.stopControlPlane();
      try {
        const xml = requestXml(route.single_logout_url, "_away", "eve");
        const done = await world
          .browser()
          .visit(world.provider.redirectTo(route.single_logout_url, "SAMLRequest", xml), { stop: isAtIdp });
        assert.equal(done.status, 303);
        assert.equal(await isIn(one), false);
      } finally {
        await world.platform.startControlPlane();
      }
    });
  });
}

function head(name: string, id: string, url: string, more = ""): string {
  const now = new Date().toISOString();
  return `<samlp:${name} xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${id}" Version="2.0" IssueInstant="${now}" Destination="${url}"${more}><saml:Issuer>https://id.example/saml</saml:Issuer>`;
}

function requestXml(url: string, id: string, nameId: string, index?: string): string {
  const format = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";
  const session = index === undefined ? "" : `<samlp:SessionIndex>${index}</samlp:SessionIndex>`;
  return `${head("LogoutRequest", id, url)}<saml:NameID Format="${format}">${nameId}</saml:NameID>${session}</samlp:LogoutRequest>`;
}

function responseXml(url: string, inResponseTo: string, status: string): string {
  const start = head(
    "LogoutResponse",
    `_${Math.random().toString(36).slice(2)}`,
    url,
    ` InResponseTo="${inResponseTo}"`,
  );
  return `${start}<samlp:Status><samlp:StatusCode Value="${status}"/></samlp:Status></samlp:LogoutResponse>`;
}

function textIn(xml: string, local: string): string | undefined {
  return new RegExp(`<\\w+:${local}[^>]*>([^<]*)<`).exec(xml)?.[1];
}
