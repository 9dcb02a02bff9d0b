/** Twenty stories of visitors, operators and providers, with one test each, in order. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { errorCode } from "../../src/lib/errors.ts";
import type { Browser, Visited } from "../support/browser.ts";
import { makeManualClock } from "../support/clock.ts";
import { startTestEdge } from "../support/edge.ts";
import { eventually } from "../support/eventually.ts";
import { alpnOf, protocols } from "../support/http-client.ts";
import { flowKeyObject, sessionOf } from "../support/logins.ts";
import { codeOf, seen } from "../support/login-world.ts";
import { startMetadataServer } from "../support/metadata-server.ts";
import type { Person } from "../support/oauth-providers.ts";
import { httpsEdge } from "../support/objects.ts";
import { databases } from "../support/postgres.ts";
import { derOf, makeProviderKeys } from "../support/saml-idp.ts";
import { startSamlWorld } from "../support/saml-world.ts";
import type { SamlWorld } from "../support/saml-world.ts";
import { accepting } from "../support/upgraded.ts";
import { openWebSocket } from "../support/websocket.ts";
import { findDom, parseDom } from "../support/xml-crypto.ts";

const engineers = [{ id: 7, slug: "eng", organization: "acme" }];
const ada: Person = {
  id: "4711",
  name: "Ada Lovelace",
  login: "ada",
  email: "ada@example.com",
  verified: true,
  organizations: ["acme"],
  teams: engineers,
};
const html = { accept: "text/html" };
const script = { "sec-fetch-mode": "cors", "sec-fetch-site": "same-origin", "content-type": "application/json" };
const form = { "sec-fetch-mode": "navigate", "sec-fetch-site": "same-origin", ...html };
const isCallback = (url: string): boolean => url.includes("/.postern/callback?");
const isAtIdp = (url: string): boolean => url.startsWith("https://id.example/");

function told(visited: Visited): string {
  return `${visited.status} ${codeOf(visited)}`.trim();
}

function refused(status: number, name: Parameters<typeof errorCode>[0]): string {
  return `${status} ${errorCode(name).replace("ERR_POSTERN_", "")}`;
}

for (const { name, create } of databases) {
  describe(`a story of logins, on ${name}`, { timeout: 180_000 }, () => {
    let world: SamlWorld;
    let drop: () => Promise<void>;
    let upgraded: ReturnType<typeof accepting>;
    before(async () => {
      const database = await create();
      ({ drop } = database);
      world = await startSamlWorld({ database: database.url });
      upgraded = accepting(world.upstream.server);
      const oauth = (provider: object, more: object = {}): object => ({ oauth: { provider, ...more } });
      await world.route("/", oauth({ github: {} }));
      await world.route("/api", oauth({ github: { email_addresses: ["grace@example.com"] } }));
      await world.route("/listed", oauth({ google: { email_addresses: ["ada@example.com"] } }));
      await world.route("/ms", oauth({ microsoft: { email_addresses: ["ada@example.com"] } }));
      await world.route(
        "/team",
        oauth({ github: { teams: ["acme/eng"] } }, { auth_check_interval: 1, cookie_prefix: "t." }),
      );
      await world.route("/away", oauth({ google: {} }, { auth_check_interval: 1, cookie_prefix: "a." }));
      await world.route("/cors", oauth({ github: {} }, { options_passthrough: true }));
      await world.route("/pub", {});
      await world.route("/plant", {});
    });
    after(async () => {
      await world.stop();
      await drop();
    });
    const at = (path: string): string => world.origin() + path;
    const sessions = async (): Promise<
      { readonly id: string; readonly expires_at: string; readonly last_active: string }[]
    > => (await world.platform.api("GET", "/app/sessions")).body.application_sessions;
    /** Deletes the newest session, which belongs to the last visitor. */
    const endNewest = async (): Promise<void> => {
      const [newest] = await sessions();
      assert.equal((await world.platform.api("DELETE", `/app/sessions/${newest?.id}`)).status, 204);
    };
    /** Repeats the request until a visitor is rejected. */
    const untilRefused = (one: Browser, path: string): Promise<Visited> =>
      eventually(
        () => one.ask(at(path), { headers: html }),
        ({ status }) => status !== 200,
        50,
      );

    for (const http of protocols) {
      const browser = (person: Partial<Person> = {}): Browser => {
        Object.assign(world.providers, { person: { ...ada, ...person }, failure: undefined });
        return world.browser(http);
      };
      const signedIn = async (path = "/", person: Partial<Person> = {}): Promise<Browser> => {
        const one = browser(person);
        const arrived = await one.visit(at(path));
        assert.equal(arrived.status, 200, arrived.text);
        return one;
      };

      it(`a story of logins (1), on ${name} over ${http}: a visitor returns to their start, and the service sees the identity and no cookie of ours`, async () => {
        const arrived = await browser().visit(at("/a?b=1"));
        assert.equal(arrived.url, at("/a?b=1"));
        const fields = seen(arrived);
        assert.equal(fields["ngrok-auth-user-id"], "4711");
        assert.equal(fields["ngrok-auth-user-name"], "Ada Lovelace");
        assert.equal(fields["ngrok-auth-user-email"], "ada@example.com");
        assert.equal(fields["cookie"], undefined);
      });

      it(`a story of logins (2), on ${name} over ${http}: three tabs start, finish in reverse order, and all arrive`, async () => {
        const one = browser();
        const tabs = [];
        for (const tab of ["/a", "/b?x=1", "/c"]) {
          const { headers } = await one.visit(at(tab), { stop: isCallback });
          tabs.push([tab, String(headers.location)] as const);
        }
        for (const [tab, callback] of tabs.reverse()) assert.equal((await one.visit(callback)).url, at(tab));
      });

      it(`I2: a story of logins (3), on ${name} over ${http}: a login of one browser ends in no other, and the provider is not called`, async () => {
        const { headers } = await browser().visit(at("/"), { stop: isCallback });
        const before = world.providers.calls.length;
        const other = await browser().ask(String(headers.location), { headers: html });
        assert.equal(told(other), "400 3121");
        assert.equal(world.providers.calls.length, before);
      });

      it(`I5: a story of logins (4), on ${name} over ${http}: an address on the list is rejected if the provider has not verified it`, async () => {
        const before = (await sessions()).length;
        assert.equal(told(await browser({ verified: false }).visit(at("/listed"))), "403 3104");
        assert.equal((await sessions()).length, before);
      });

      it(`I5: a story of logins (5), on ${name} over ${http}: a foreign Microsoft tenant cannot claim an address on the list`, async () => {
        const tenant = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";
        assert.equal(told(await browser({ tenant }).visit(at("/ms"))), "403 3104");
        assert.equal(told(await browser({ tenant, edov: true }).visit(at("/ms"))), "200");
      });

      it(`a story of logins (6), on ${name} over ${http}: a former team member is rejected by one check, however many requests wait for it`, async () => {
        const one = await signedIn("/team");
        Object.assign(world.providers, { person: { ...ada, teams: [] } });
        const before = world.providers.calls.length;
        assert.equal(told(await untilRefused(one, "/team")), "403 3105");
        const checks = world.providers.calls.slice(before).filter((call) => call.endsWith("/api.github.com/user"));
        assert.equal(checks.length, 1);
        const many = await Promise.all(Array.from({ length: 30 }, () => one.ask(at("/team"), { headers: html })));
        assert.deepEqual([...new Set(many.map(told))], ["403 3105"]);
      });

      it(`a story of logins (7), on ${name} over ${http}: a provider that is down is tolerated for a while`, async () => {
        const one = await signedIn("/away");
        world.providers.failure = { status: 503 };
        const before = world.providers.calls.length;
        assert.equal(told(await untilRefused(one, "/away")), refused(503, "login_unchecked"));
        assert.ok(world.providers.calls.length > before, "it was asked, and visitors were admitted all the same");
      });

      it(`a story of logins (8), on ${name} over ${http}: a script whose session has ended gets 401 as JSON, and nothing reaches the service`, async () => {
        const one = await signedIn();
        await endNewest();
        const before = world.received.length;
        const answer = await one.ask(at("/save"), { method: "POST", body: "{}", headers: script });
        assert.equal(told(answer), "401 3100");
        assert.match(String(answer.headers["content-type"]), /json/);
        assert.match(String(JSON.parse(answer.text).details?.login_url ?? answer.text), /\/\.postern\/login\?path=/);
        assert.equal(world.received.length, before);
      });

      it(`a story of logins (9), on ${name} over ${http}: a form whose session has ended does not reach the service, and succeeds after a login in another tab`, async () => {
        const one = await signedIn();
        await endNewest();
        const submit = (): Promise<Visited> => one.ask(at("/form"), { method: "POST", body: "a=1", headers: form });
        const before = world.received.length;
        assert.equal(told(await submit()), "401 3129");
        assert.equal(world.received.length, before);
        assert.equal((await one.visit(at("/"))).status, 200);
        const again = await submit();
        assert.equal(again.status, 200);
        assert.equal(world.received.at(-1)?.method, "POST");
      });

      it(`a story of logins (10), on ${name} over ${http}: OPTIONS passes if configured, without identity and cookie`, async () => {
        const one = await signedIn("/cors");
        const cookie = `${one.cookies(at("/cors"))}; own=1`;
        const answer = await one.ask(at("/cors"), { method: "OPTIONS", headers: { cookie } });
        assert.equal(answer.status, 200);
        const fields = seen(answer);
        assert.equal(fields["cookie"], "own=1");
        assert.deepEqual([fields["ngrok-auth-user-id"], fields["postern-assertion"]], [undefined, undefined]);
      });

      it(`I2: a story of logins (11), on ${name} over ${http}: an open WebSocket ends with its session`, async () => {
        const one = await signedIn();
        const port = world.platform.httpsPort;
        const fixture = {
          connect: (protocol: "h1" | "h2") => world.platform.connect("app.localhost", [alpnOf(protocol)]),
        };
        const socket = await openWebSocket(fixture, http, {
          host: `app.localhost:${port}`,
          fields: { cookie: one.cookies(at("/")) },
        });
        await upgraded();
        await endNewest();
        await socket.ended;
        socket.destroy();
        assert.equal((await one.ask(at("/"), { headers: html })).status, 302);
        const [last] = (await world.platform.api("GET", "/revisions?limit=1")).body.revisions;
        assert.match(String(last.operation), /delete/i);
      });

      it(`I2: a story of logins (13), on ${name} over ${http}: a restart requires no new login, and changes no end time`, async () => {
        const one = await signedIn();
        const [before] = await sessions();
        await world.platform.restart();
        assert.equal((await one.ask(at("/"), { headers: html })).status, 200);
        const [present] = await sessions();
        // Without a maximum duration, the end depends on the last visit.
        const left = (of: typeof before): number =>
          Date.parse(of?.expires_at ?? "") - Date.parse(of?.last_active ?? "");
        assert.deepEqual([present?.id, left(present)], [before?.id, left(before)]);
      });

      it(`I2: a story of logins (15), on ${name} over ${http}: each route checks its own lists, without a new login`, async () => {
        const one = await signedIn();
        const before = world.providers.calls.length;
        assert.equal(told(await one.visit(at("/api"))), "403 3105");
        const grace = await signedIn("/", { id: "4712", email: "grace@example.com" });
        const logins = world.providers.calls.length;
        assert.equal(told(await grace.visit(at("/api"))), "200");
        assert.equal(world.providers.calls.length, logins);
        assert.ok(logins > before);
      });

      it(`I2: a story of logins (16), on ${name} over ${http}: a service without login on the same host neither receives nor sets the cookie`, async () => {
        const one = await signedIn();
        assert.match(one.cookies(at("/pub")), /session\./);
        assert.equal(seen(await one.ask(at("/pub")))["cookie"], undefined);
        assert.deepEqual((await one.ask(at("/plant"))).headers["set-cookie"], ["own=1"]);
      });

      it(`a story of logins (17), on ${name} over ${http}: a provider signs with its second certificate, and then with one that is only at its address`, async () => {
        const server = await startMetadataServer();
        try {
          const { provider } = world;
          const [second, third] = [await makeProviderKeys(), await makeProviderKeys()];
          const known = [provider.keys, second].map(({ certificatePem }) => derOf(certificatePem));
          server.serve(provider.metadata({ certificates: known }));
          const path = `/saml-17-${http}`;
          const route = await world.samlRoute(path, { idp_metadata: "", idp_metadata_url: server.url });
          const signIn = async (keys: typeof second): Promise<string> =>
            told(await provider.signIn(browser(), at(path), route, { keys }));
          const begun = (): Promise<Visited> => world.browser(http).ask(at(path), { headers: html });
          assert.equal((await eventually(begun, ({ status }) => status === 302)).status, 302);
          assert.equal(await signIn(second), "200");
          const before = server.asked;
          server.serve(provider.metadata({ certificates: [derOf(third.certificatePem)] }));
          assert.equal(await signIn(third), "200");
          assert.equal(server.asked, before + 1);
        } finally {
          server.stop();
        }
      });

      it(`I4: a story of logins (18), on ${name} over ${http}: a login started at the provider leads to its own route, once, if the route allows it`, async () => {
        const { provider } = world;
        const [open, closed] = [`/saml-18-${http}`, `/saml-closed-${http}`];
        const route = await world.samlRoute(open);
        const other = await world.samlRoute(closed, { allow_idp_initiated: false });
        const begun = (relayState: string, to = route): string =>
          provider.answer(undefined, to, {
            said: { responseInResponseTo: undefined, inResponseTo: undefined },
            relayState,
          });
        const post = (body: string, to = route): Promise<Visited> =>
          browser().visit(to.assertion_consumer_service_url, { method: "POST", body });
        assert.equal(told(await post(begun(at("/pub")))), "400 5322");
        assert.equal(told(await post(begun(at(closed), other), other)), "403 5317");
        const body = begun(at(`${open}/x`));
        assert.equal((await post(body)).url, at(`${open}/x`));
        assert.equal(told(await post(body)), "403 5305");
      });

      it(`a story of logins (19), on ${name} over ${http}: a provider's signed request ends every session of a name at its route, and gets a signed response`, async () => {
        const { provider } = world;
        const path = `/saml-19-${http}`;
        const route = await world.samlRoute(path);
        const visitors = [browser(), browser(), browser()];
        for (const [index, one] of visitors.entries()) {
          const said = { nameId: index < 2 ? "ada" : "bob" };
          assert.equal(told(await provider.signIn(one, at(path), route, { said })), "200");
        }
        const xml = logoutRequest(route.single_logout_url, `_${http}19`, "ada");
        const done = await world.browser(http).visit(provider.redirectTo(route.single_logout_url, "SAMLRequest", xml), {
          stop: isAtIdp,
        });
        assert.equal(done.status, 303, done.text);
        const answer = provider.read(done, route);
        assert.equal(parseDom(answer.xml).getAttribute("InResponseTo"), `_${http}19`);
        assert.match(findDom(answer.xml, "StatusCode").getAttribute("Value"), /:Success$/);
        const statuses = await Promise.all(visitors.map((one) => one.ask(at(path), { headers: html })));
        assert.deepEqual(
          statuses.map(({ status }) => status),
          [302, 302, 200],
        );
      });
    }

    it(`a story of logins (20), on ${name}: the login host cannot belong to an agent, hostport or wildcard`, async () => {
      const held = errorCode("domain_held");
      for (const hostport of ["idp.localhost:443", "*.localhost:443", "a.idp.localhost:443"]) {
        const made = await world.platform.api("POST", "/edges/https", { hostports: [hostport] });
        assert.equal(made.body.error_code, held, hostport);
      }
      const agent = await world.platform.startAgent({
        upstream: world.upstream.port,
        url: "https://idp.localhost",
        offline: true,
      });
      const end = await agent.ended;
      assert.match(JSON.stringify(end), /idp\.localhost/);
      await agent.close();
    });
  });
}

describe("a story of logins at two edges", () => {
  it(
    "I2: a story of logins (12): a user with sessions at two edges is rejected by both immediately",
    { timeout: 60_000 },
    async () => {
      const world = await startSamlWorld({ edges: 2 });
      try {
        world.providers.person = ada;
        await world.route("/", { oauth: { provider: { github: {} } } });
        const visitors = [world.browser("h1"), world.browser("h2")];
        for (const one of visitors) assert.equal((await one.visit(world.origin())).status, 200);
        /** Each request uses a separate connection, and the kernel chooses its edge. */
        const statuses = async (): Promise<number[]> => {
          const asked = visitors.flatMap((one) =>
            Array.from({ length: 12 }, () => one.ask(world.origin(), { headers: html })),
          );
          return [...new Set((await Promise.all(asked)).map(({ status }) => status))];
        };
        assert.deepEqual(await statuses(), [200]);
        const [user] = (await world.platform.api("GET", "/app/users")).body.application_users;
        assert.equal((await world.platform.api("DELETE", `/app/users/${user.id}`)).status, 204);
        assert.deepEqual(await statuses(), [302]);
      } finally {
        await world.stop();
      }
    },
  );
});

describe("a story of logins and clocks", () => {
  for (const http of protocols) {
    it(`S7: a story of logins (14), over ${http}: a session that was idle for too long has ended, although the clock was set back`, async () => {
      const clock = makeManualClock();
      const [now, host] = [clock.now(), "app.example.com"];
      const { object, cookie } = sessionOf(clock, {
        siteId: "edghts_app",
        kind: "oauth",
        provider: "github",
        clientId: "c",
        cookiePrefix: "s.",
      });
      const lists = { scopes: [], email_addresses: [], email_domains: [], organizations: [], teams: [] };
      const oauth = {
        enabled: true,
        options_passthrough: false,
        cookie_prefix: "s.",
        inactivity_timeout: 600,
        maximum_duration: 0,
        auth_check_interval: 0,
        provider: { github: { client_id: "c", client_secret: "s", ...lists } },
      };
      const objects = httpsEdge("app", [host]).map((object) =>
        object.kind === "https_edge_route" ? { ...object, doc: { ...object.doc, oauth } } : object,
      );
      const edge = await startTestEdge([...objects, flowKeyObject(now)], { clock });
      edge.put(object);
      try {
        const status = async (): Promise<number> =>
          (await edge.ask(http, { host, path: "/", headers: { ...html, cookie: cookie.join("=") } })).status;
        // Admitted visitors get 503, because no agent is connected.
        assert.equal(await status(), 503);
        clock.pass(599_000);
        assert.equal(await status(), 503);
        clock.step(-3_600_000);
        clock.pass(600_000);
        assert.equal(await status(), 302);
      } finally {
        const stopped = edge.edge.stop().then(() => true);
        while (!(await Promise.race([stopped, setImmediate(false)]))) clock.pass(1_000);
      }
    });
  }
});

function logoutRequest(url: string, id: string, nameId: string): string {
  const name = `<saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">${nameId}</saml:NameID>`;
  return `<samlp:LogoutRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${id}" Version="2.0" IssueInstant="${new Date().toISOString()}" Destination="${url}"><saml:Issuer>https://id.example/saml</saml:Issuer>${name}</samlp:LogoutRequest>`;
}
