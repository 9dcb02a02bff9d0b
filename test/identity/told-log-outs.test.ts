/** Logout tokens that an issuer sends without the visitors: which sessions end, and which tokens are invalid. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { after, before, beforeEach, describe, it } from "node:test";
import { issuerTag } from "../../src/identity/browser/realm.ts";
import type { Browser, Visited } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { seen, startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import { startOwnIssuer } from "../support/own-issuer.ts";
import type { Claims, OwnIssuer } from "../support/own-issuer.ts";

const event = "http://schemas.openid.net/event/backchannel-logout";
const now = (): number => Math.floor(Date.now() / 1000);

describe("an issuer that sends logout tokens", () => {
  let world: LoginWorld;
  let issuer: OwnIssuer;
  let another: OwnIssuer;
  let account: string;
  let places: Record<"own" | "client" | "issuer" | "account", string>;
  let visitors: Map<string, Browser>;
  before(async () => {
    // Each request uses a separate connection, and each edge gets some of them.
    [world, issuer, another] = await Promise.all([startLoginWorld({ edges: 2 }), startOwnIssuer(), startOwnIssuer()]);
    const { api } = world.platform;
    account = (await api("GET", "/accounts")).body.accounts[0].id;
    const login = (of: OwnIssuer, client_id: string): object => ({
      oidc: { issuer: of.url, client_id, client_secret: "secret" },
    });
    await world.route("/own", login(issuer, "c"));
    await world.route("/client", login(issuer, "d"));
    await world.route("/issuer", login(another, "c"));
    const key = (await api("POST", "/accounts", { name: "tenant" })).body.api_key;
    const edge = (await api("POST", "/edges/https", { hostports: ["their.localhost:443"] }, key)).body;
    const address = `127.0.0.1:${world.upstream.port}`;
    const backend = (await api("POST", "/backends/static", { address }, key)).body;
    const route = { match_type: "path_prefix", match: "/", backend: { backend_id: backend.id }, ...login(issuer, "c") };
    assert.equal((await api("POST", `/edges/https/${edge.id}/routes`, route, key)).status, 201);
    places = {
      own: `${world.origin()}/own`,
      client: `${world.origin()}/client`,
      issuer: `${world.origin()}/issuer`,
      account: `${world.origin("their.localhost")}/`,
    };
  });
  after(async () => {
    await world.stop();
    await Promise.all([issuer.stop(), another.stop()]);
  });
  beforeEach(async () => {
    visitors = new Map();
    for (const [place, url] of Object.entries(places)) {
      const browser = world.browser();
      assert.equal((await browser.visit(url)).status, 200, place);
      visitors.set(place, browser);
    }
  });

  /** Checks that the visitor is logged out at the `expected` places, after the other edge has received the logout. */
  const ended = async (expected: readonly string[]): Promise<void> => {
    const found = await eventually(notLoggedIn, (places) => places.length >= expected.length);
    assert.deepEqual(found, expected);
  };
  const notLoggedIn = async (): Promise<string[]> => {
    const found: string[] = [];
    for (const [place, url] of Object.entries(places)) {
      const asked = visitors.get(place)?.ask(url, { headers: { accept: "text/html" } });
      // A request that is in progress when its session ends is cut off.
      const answer = await asked?.catch(() => undefined);
      if (answer?.status !== 200) found.push(place);
    }
    return found;
  };
  const tokenOf = (change: Claims, header: Claims = { typ: "logout+jwt" }, by: KeyObject = issuer.key): string => {
    const times = { iat: now(), exp: now() + 60 };
    const told = { iss: issuer.url, aud: "c", sub: "ada", ...times, jti: randomUUID(), events: { [event]: {} } };
    return issuer.sign({ ...told, ...change }, header, by);
  };
  const tell = async (
    body: string,
    { tag = issuerTag(account, issuer.url), type = "application/x-www-form-urlencoded" } = {},
  ): Promise<number> => {
    const url = `${world.origin("idp.localhost")}/oidc/${tag}/backchannel-logout`;
    return (await world.browser().ask(url, { method: "POST", body, headers: { "content-type": type } })).status;
  };

  it("I1: an issuer that sends logout tokens ends the named sessions, only of its own client and account", async () => {
    for (const [told, expected] of [
      [{ sub: "eve" }, []],
      [{ sub: "ada", sid: "another" }, []],
      [{ sub: "eve", sid: "s1" }, []],
      [{ sub: undefined, sid: "another" }, []],
      [{ aud: "d" }, ["client"]],
      [{ sub: undefined, sid: "s1" }, ["own", "client"]],
    ] as const) {
      assert.equal(await tell(`logout_token=${tokenOf(told)}`), 200, JSON.stringify(told));
      await ended(expected);
    }
  });

  it("I1: an issuer that sends logout tokens ends a session by its id, even after checks whose responses omit it", async () => {
    const checked = await startOwnIssuer();
    try {
      const config = {
        issuer_url: checked.url,
        client_id: "c",
        client_secret: "secret",
        userinfo_refresh_interval: "1s",
      };
      const headers = { "x-checked": "${actions.ngrok.oidc.user_info_refreshed}" };
      const rule = [
        { type: "openid-connect", config },
        { type: "add-headers", config: { headers } },
      ];
      const value = JSON.stringify({ on_http_request: [{ actions: rule }] });
      await world.route("/checked", { traffic_policy: { value } });
      for (const forge of [() => "", (claims: Claims) => checked.sign({ ...claims, sid: undefined })]) {
        checked.forge = (claims) => checked.sign(claims);
        const browser = world.browser();
        const url = `${world.origin()}/checked`;
        assert.equal((await browser.visit(url)).status, 200);
        checked.forge = forge;
        const ask = (): Promise<Visited | undefined> =>
          browser.ask(url, { headers: { accept: "text/html" } }).catch(() => undefined);
        await eventually(ask, (answer) => answer?.status === 200 && seen(answer)["x-checked"] === "true");
        const told = checked.sign(
          {
            iss: checked.url,
            aud: "c",
            iat: now(),
            exp: now() + 60,
            sid: "s1",
            jti: randomUUID(),
            events: { [event]: {} },
          },
          { typ: "logout+jwt" },
        );
        assert.equal(await tell(`logout_token=${told}`, { tag: issuerTag(account, checked.url) }), 200);
        await eventually(ask, (answer) => answer?.status === 302);
      }
    } finally {
      await checked.stop();
    }
  });

  it("I1: an issuer that sends logout tokens is obeyed once for each token, at either edge", async () => {
    const body = `logout_token=${tokenOf({})}`;
    const outcomes: number[] = [];
    for (let count = 0; count < 8; count += 1) outcomes.push(await tell(body));
    assert.deepEqual(outcomes, [200, ...Array<number>(7).fill(400)]);
    const raced = `logout_token=${tokenOf({})}`;
    const together = await Promise.all(Array.from({ length: 8 }, () => tell(raced)));
    assert.equal(together.filter((status) => status === 200).length, 1);
    await ended(["own"]);
  });

  it("I1: an issuer that sends logout tokens is not obeyed for an invalid token, or one for another client", async () => {
    const odd = ["", null, 1, [], ["ada"], {}, "a".repeat(256)];
    const refused: readonly (readonly [Claims, Claims?, KeyObject?])[] = [
      [{ nonce: "x" }],
      ...[undefined, null, {}, [], "x", { [event]: null }, { [event]: "x" }].map((events) => [{ events }] as const),
      ...[undefined, null, "", 1].map((jti) => [{ jti }] as const),
      ...odd.map((sub) => [{ sub, sid: "s1" }] as const),
      ...["", null, 1, ["s1"]].map((sid) => [{ sub: undefined, sid }] as const),
      [{ aud: "e" }],
      [{ iss: `${issuer.url}/` }],
      [{ iss: another.url }],
      [{ iat: now() - 86_400 }],
      [{ iat: now() + 86_400 }],
      [{ exp: now() - 120 }],
      [{}, { typ: "at+jwt" }],
      [{}, { typ: "dpop+jwt" }],
      [{}, {}, issuer.other],
      [{}, {}, another.key],
    ];
    for (const [change, header, by] of refused) {
      const body = `logout_token=${tokenOf(change, header, by)}`;
      assert.equal(await tell(body), 400, JSON.stringify([change, header]));
    }
    await ended([]);
  });

  it("I1: an issuer that sends logout tokens is obeyed only for one token in a form at its own address", async () => {
    const form = (): string => `logout_token=${tokenOf({})}`;
    assert.equal(await tell(`${form()}&${form()}`), 400);
    assert.equal(await tell(""), 400);
    assert.equal(await tell(form(), { type: "text/plain" }), 400);
    assert.equal(await tell(JSON.stringify({ logout_token: tokenOf({}) }), { type: "application/json" }), 400);
    assert.equal(await tell(form(), { tag: issuerTag(account, another.url) }), 400);
    assert.equal(await tell(form(), { tag: "abcdefgh" }), 400);
    await ended([]);
  });
});
