/**
 * The parts of a login: state, cookie, code or ticket, nonce, challenge, SAML responses. Each is used as issued, and
 * exchanged with that of another login. The tests cover every pair of kinds, visitors, routes and hosts.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Visited } from "../support/browser.ts";
import { protocols } from "../support/http-client.ts";
import { codeOf } from "../support/login-world.ts";
import { startOwnIssuer } from "../support/own-issuer.ts";
import type { OwnIssuer } from "../support/own-issuer.ts";
import { startSamlWorld } from "../support/saml-world.ts";
import type { SamlWorld } from "../support/saml-world.ts";

/** Parts that bind a code to its login. A SAML provider's response is bound to its request. */
const heldBy = {
  amazon: ["challenge"],
  facebook: [],
  github: ["challenge"],
  gitlab: ["challenge", "nonce"],
  google: ["challenge", "nonce"],
  linkedin: [],
  microsoft: ["challenge", "nonce"],
  twitch: ["nonce"],
  oidc: ["challenge", "nonce"],
  saml: ["request"],
} as const;
type Kind = keyof typeof heldBy;
const kinds = Object.keys(heldBy) as Kind[];
const codeKinds = kinds.filter((kind) => kind !== "saml");
const places = [
  { what: "another visitor's", path: "/x", host: "app.localhost" },
  { what: "another route's", path: "/y", host: "app.localhost" },
  { what: "another host's", path: "/x", host: "other.localhost" },
] as const;

interface Place {
  readonly kind: Kind;
  readonly path: string;
  readonly host: string;
}

/** A login in progress. The provider has already sent the visitor back with the proof. */
interface Begun extends Place {
  readonly what: string;
  readonly state: string;
  /** `code` or `ticket`, and its value. */
  readonly proof: readonly [name: string, value: string];
  readonly cookie: readonly [name: string, value: string];
}

const html = { accept: "text/html" };
const isCallback = (url: string): boolean => url.includes("/.postern/callback?");
const isAtIdp = (url: string): boolean => url.startsWith("https://id.example/");

function told(visited: Visited): string {
  return `${visited.status} ${codeOf(visited)}`.trim();
}

function opensSession({ headers }: Visited): boolean {
  return (headers["set-cookie"] ?? []).some((one) => one.includes("session.") && !one.includes("Max-Age=0"));
}

let world: SamlWorld;
let issuer: OwnIssuer;
const saml = new Map<string, Awaited<ReturnType<SamlWorld["samlRoute"]>>>();
before(async () => {
  [world, issuer] = await Promise.all([startSamlWorld(), startOwnIssuer()]);
  for (const path of ["/x", "/y"]) {
    for (const kind of codeKinds) {
      if (kind === "oidc") continue;
      await world.route(`/${kind}${path}`, { oauth: { provider: { [kind]: {} } } });
    }
    const client = { client_id: "c", client_secret: "secret" };
    await world.route(`/oidc${path}`, { oidc: { issuer: issuer.url, ...client } });
    saml.set(path, await world.samlRoute(`/saml${path}`));
  }
});
after(async () => {
  await world.stop();
  await issuer.stop();
});

for (const http of protocols) {
  describe(`the parts of logins, over ${http}`, { timeout: 120_000 }, () => {
    const routeAt = (path: string) => saml.get(path) as NonNullable<ReturnType<typeof saml.get>>;
    const urlOf = ({ kind, path, host }: Place): string => `${world.origin(host)}/${kind}${path}`;
    const begin = async (place: Place & { readonly what?: string }): Promise<Begun> => {
      const { kind, path, host } = place;
      const browser = world.browser(http);
      let at = await browser.visit(urlOf(place), { stop: (url) => isCallback(url) || isAtIdp(url) });
      if (kind === "saml") {
        const route = routeAt(path);
        const body = world.provider.answer(world.provider.read(at, route), route);
        at = await browser.visit(route.assertion_consumer_service_url, { method: "POST", body, stop: isCallback });
      }
      const { searchParams } = new URL(String(at.headers.location));
      const proof = kind === "saml" ? "ticket" : "code";
      const [name = "", value = ""] = browser.cookies(world.origin(host)).split("=");
      const of = (parameter: string): string => searchParams.get(parameter) as string;
      return { what: "its own", ...place, state: of("state"), proof: [proof, of(proof)], cookie: [name, value] };
    };
    /** Returns like a browser that has only this cookie. */
    const finish = async (
      host: string,
      { state, proof, cookie }: Pick<Begun, "state" | "proof" | "cookie">,
    ): Promise<Visited> => {
      const query = new URLSearchParams({ state, [proof[0]]: proof[1] });
      const headers = { ...html, cookie: cookie.join("=") };
      return await world.browser(http).ask(`${world.origin(host)}/.postern/callback?${query.toString()}`, { headers });
    };
    const calls = (): number => world.providers.calls.length + issuer.calls.length;
    const arrives = async (one: Begun): Promise<void> => {
      const arrived = await finish(one.host, one);
      assert.equal(arrived.headers.location, urlOf(one), `${one.kind}${one.path}: ${told(arrived)}`);
      assert.ok(opensSession(arrived));
    };
    /** Returns all places of a kind, and one of each other kind. */
    const placesBeside = (own: Kind) =>
      kinds.flatMap((kind) => places.slice(0, kind === own ? places.length : 1).map((place) => ({ kind, ...place })));

    it(`I2: the parts of logins, over ${http}: cookies are for one host, over TLS, and hidden from scripts and other sites' forms`, async () => {
      const name = String.raw`__Host-service\.(?:session|nonce)\.[0-9a-z]{8}(?:\.(?:recent|[\w-]{6}))?`;
      const form = new RegExp(String.raw`^${name}=[\w-]*; Max-Age=\d+; Path=/; Secure; HttpOnly; SameSite=Lax$`);
      for (const kind of kinds) {
        const sent = await world.browser(http).ask(urlOf({ kind, ...places[0] }), { headers: html });
        const one = await begin({ kind, ...places[0] });
        const arrived = await finish(one.host, one);
        const set = [sent, arrived].flatMap(({ headers }) => headers["set-cookie"] ?? []);
        for (const cookie of set) assert.match(cookie, form, kind);
        const ages = set.map((cookie) => cookie.replace(/^.*?(nonce|session|recent)[^.]*=.*Max-Age=(\d+).*$/, "$1 $2"));
        assert.equal(ages.length, 4, ages.join());
        assert.ok(set[0]?.includes("; Max-Age=900;"), "a flow");
        assert.ok(set[1]?.startsWith(`${one.cookie[0]}=; Max-Age=0;`), "and its end");
      }
    });

    it(`I2: the parts of logins, over ${http}: a session gets a new cookie, whatever the browser sent, and ends the previous session`, async () => {
      for (const kind of kinds) {
        const place = { kind, ...places[0] };
        const login = async (name: string, brought: string): Promise<string> => {
          const one = await begin(place);
          const cookie = [one.cookie[0], `${one.cookie[1]}; ${name}=${brought}`] as const;
          const { headers } = await finish(one.host, { ...one, cookie });
          const set = (headers["set-cookie"] ?? []).find((line) => line.startsWith(`${name}=`)) ?? "";
          return set.slice(name.length + 1, set.indexOf(";"));
        };
        const status = async (name: string, value: string): Promise<number> =>
          (await world.browser(http).ask(urlOf(place), { headers: { ...html, cookie: `${name}=${value}` } })).status;
        const name = (await begin(place)).cookie[0].replace(/nonce\.([0-9a-z]{8})\..*$/, "session.$1");
        const planted = `p1${"A".repeat(43)}`;
        const first = await login(name, planted);
        assert.match(first, /^p1[\w-]{43}$/);
        assert.deepEqual([await status(name, planted), await status(name, first)], [302, 200], kind);
        const second = await login(name, first);
        assert.deepEqual([await status(name, first), await status(name, second)], [302, 200], kind);
      }
    });

    // The HTTP version makes no difference to most of it.
    for (const kind of http === "h1" ? kinds : (["google", "saml"] as const)) {
      const own = { kind, path: "/x", host: "app.localhost" } as const;

      it(`I2: the parts of logins, over ${http}: of ${kind}, none ends by the state or the cookie of any other, and no provider is called`, async () => {
        const [mine, ...others] = await Promise.all([begin(own), ...placesBeside(kind).map(begin)]);
        const before = calls();
        for (const other of others) {
          const { state, proof, cookie } = other;
          const underName = [mine.cookie[0], cookie[1]] as const;
          for (const [what, changed] of Object.entries<Partial<Begun>>({
            state: { state },
            "state and proof": { state, proof },
            cookie: { cookie },
            "cookie and proof": { cookie, proof },
            "cookie under its name": { cookie: underName },
            "cookie under its name, and proof": { cookie: underName, proof },
            "cookie under its name, and state": { cookie: underName, state },
            "cookie under its name, state and proof": { cookie: underName, state, proof },
          })) {
            const answer = await finish(mine.host, { ...mine, ...changed });
            const isElsewhere = other.host !== mine.host && changed.state !== undefined;
            const expected = isElsewhere ? "400 3124" : "400 3121";
            assert.equal(told(answer), expected, `${other.what} ${what} (${other.kind})`);
            assert.ok(!opensSession(answer));
          }
        }
        assert.equal(calls(), before);
        // Everything except the exchanged part was valid.
        for (const one of [mine, ...others]) await arrives(one);
      });

      it(`I2: the parts of logins, over ${http}: of ${kind}, none ends by another login's proof`, async () => {
        for (const place of placesBeside(kind)) {
          const [mine, other] = await Promise.all([begin(own), begin(place)]);
          const answer = await finish(mine.host, { ...mine, proof: other.proof });
          if (place.kind === kind && heldBy[kind].length === 0) {
            // Such a provider cannot detect it (SECURITY.md): a code is valid once, with the app's secret.
            assert.equal(answer.headers.location, urlOf(own), told(answer));
            assert.equal(told(await finish(other.host, other)), "502 3163");
            continue;
          }
          assert.match(told(answer), /^(?:400 3108|400 3124|502 31(?:12|63|64))$/, `${place.what} (${place.kind})`);
          assert.ok(!opensSession(answer), `${place.what} (${place.kind})`);
        }
      });
    }

    it(`I1: the parts of logins, over ${http} are rejected if a provider got the state, nonce or challenge of another login`, async () => {
      for (const kind of codeKinds) {
        for (const { path, host } of places) {
          for (const [parameter, expected] of [
            ["state", host === "app.localhost" ? "400 3121" : "400 3124"],
            ["nonce", "502 3164"],
            ["code_challenge", "502 3163"],
          ] as const) {
            const [one, other] = [world.browser(http), world.browser(http)];
            const mine = await one.ask(urlOf({ kind, path: "/x", host: "app.localhost" }), { headers: html });
            const theirs = await other.ask(urlOf({ kind, path, host }), { headers: html });
            const asked = new URL(String(mine.headers.location));
            const value = new URL(String(theirs.headers.location)).searchParams.get(parameter);
            const held: readonly string[] = ["state", ...heldBy[kind]];
            assert.equal(value !== null, held.includes(parameter.replace("code_", "")), `${parameter} (${kind})`);
            if (value === null) continue;
            asked.searchParams.set(parameter, value);
            const { headers } = await one.visit(asked.href, { stop: isCallback });
            // The state names the host. There, too, only its own browser may finish the login.
            const back = new URL(String(headers.location));
            const answer = await one.ask(`${world.origin()}${back.pathname}${back.search}`, { headers: html });
            assert.equal(told(answer), expected, `${parameter} (${kind})`);
            assert.ok(!opensSession(answer));
          }
        }
      }
    });

    it(`I1: the parts of logins, over ${http} return only at the path of their own issuer`, async () => {
      const idp = world.origin("idp.localhost");
      const pathOf = async (kind: Kind): Promise<string> => {
        const { headers } = await world.browser(http).ask(urlOf({ kind, ...places[0] }), { headers: html });
        return new URL(new URL(String(headers.location)).searchParams.get("redirect_uri") ?? "").pathname;
      };
      const paths = new Map<Kind, string>();
      for (const kind of ["github", "google", "oidc"] as const) paths.set(kind, await pathOf(kind));
      for (const kind of ["github", "twitch", "google", "oidc", "saml"] as const) {
        const { state, proof } = await begin({ kind, ...places[0] });
        const query = new URLSearchParams({ state, [proof[0]]: proof[1] });
        for (const path of [...new Set(paths.values()), "/oauth2/callback/abcdefgh"]) {
          const answer = await world.browser(http).ask(`${idp}${path}?${query.toString()}`, { headers: html });
          const own = paths.get(kind === "twitch" ? "google" : kind);
          assert.equal(told(answer), path === own ? "303" : "400 3124", `${kind} at ${path}`);
        }
      }
    });

    it(`I2: the parts of logins, over ${http} are rejected if the login, or its route, has been replaced in the meantime`, async () => {
      const { api } = world.platform;
      for (const [what, change] of [
        ["another provider", { oauth: { provider: { gitlab: {} } } }],
        ["no login", { oauth: null }],
        ["another path", { match: `/elsewhere-${http}` }],
      ] as const) {
        const path = `/${what.replace(" ", "-")}-${http}`;
        const github = { client_id: `own${path}`, client_secret: "s" };
        const id = await world.route(`/github${path}`, { oauth: { provider: { github } } });
        const one = await begin({ kind: "github", path, host: "app.localhost" });
        const changed = await api("PATCH", `/edges/https/${world.edgeId}/routes/${id}`, change);
        assert.equal(changed.status, 200, changed.text);
        const before = calls();
        const answer = await finish(one.host, one);
        assert.equal(told(answer), "400 3124", what);
        assert.equal(calls(), before, what);
        await api("DELETE", `/edges/https/${world.edgeId}/routes/${id}`);
      }
    });

    it(`I4: the parts of logins, over ${http} are rejected if a SAML response mixes two requests, in any combination`, async () => {
      const mine = { kind: "saml", ...places[0] } as const;
      const asked = async (place: Place) => {
        const page = await world.browser(http).visit(urlOf(place), { stop: isAtIdp });
        return world.provider.read(page, routeAt(place.path));
      };
      const route = routeAt("/x");
      for (const place of places) {
        const [one, other] = [await asked(mine), await asked({ kind: "saml", ...place })];
        for (let mixture = 1; mixture < 8; mixture += 1) {
          const [relay, response, confirmation] = [1, 2, 4].map((bit) => ((mixture & bit) === 0 ? one : other)) as [
            typeof one,
            typeof one,
            typeof one,
          ];
          const body = world.provider.answer(one, route, {
            ...(relay.relayState !== undefined && { relayState: relay.relayState }),
            said: { responseInResponseTo: response.id, inResponseTo: confirmation.id },
          });
          const answer = await world.browser(http).ask(route.assertion_consumer_service_url, { method: "POST", body });
          // With all parts of another visitor or host at the same route, only that browser can finish the login.
          if (mixture === 7 && place.path === mine.path) {
            assert.equal(new URL(String(answer.headers.location)).hostname, place.host);
            continue;
          }
          assert.match(told(answer), /^(?:400 5300|403 5305)$/, `${place.what}, mixture ${mixture}`);
          assert.equal(answer.headers.location, undefined);
        }
      }
    });
  });
}
