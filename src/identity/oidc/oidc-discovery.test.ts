import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { FetchedAnswer, ProviderFetch } from "../calls/fetch.ts";
import { makeDiscovery } from "./oidc-discovery.ts";

const issuer = "https://id.example";
const good = {
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  userinfo_endpoint: `${issuer}/userinfo`,
  end_session_endpoint: `${issuer}/end`,
  jwks_uri: `${issuer}/jwks`,
};
const endpoints = Object.keys(good).filter((name) => name !== "issuer");
const required = ["authorization_endpoint", "token_endpoint", "jwks_uri"];

/** An issuer whose configuration the test sets. Requests are recorded. */
function discovering(of = issuer) {
  const clock = makeManualClock();
  const asked: string[] = [];
  const state: { status: number; json: object } = { status: 200, json: good };
  const get = async (url: string): Promise<FetchedAnswer> => {
    asked.push(url);
    return await Promise.resolve({ ...state, list: undefined } as FetchedAnswer);
  };
  const fetcher: ProviderFetch = { get, post: get };
  return { clock, asked, state, discover: makeDiscovery(of, fetcher, clock) };
}

const isUnreachable = (error: unknown): boolean =>
  error instanceof LoginRefusal && error.reason === "login_unreachable";

describe("an issuer's metadata", () => {
  it("I1: an issuer's metadata is accepted only under its own name", async () => {
    for (const other of [
      undefined,
      null,
      "",
      [issuer],
      { issuer },
      `${issuer}//`,
      `${issuer}/x`,
      issuer.toUpperCase(),
      ` ${issuer}`,
      `${issuer}:443`,
      "http://id.example",
      "https://evil.example",
    ]) {
      const { discover, state } = discovering();
      state.json = { ...good, issuer: other };
      await assert.rejects(discover(), isUnreachable, JSON.stringify(other));
    }
    for (const [configured, own] of [
      [issuer, `${issuer}/`],
      [`${issuer}/`, issuer],
    ] as const) {
      const { discover, state } = discovering(configured);
      state.json = { ...good, issuer: own };
      assert.equal((await discover()).issuer, own, "a slash at the end is the issuer's to spell");
    }
    const { discover, asked } = discovering();
    assert.equal((await discover()).tokenEndpoint, good.token_endpoint);
    assert.deepEqual(asked, [`${issuer}/.well-known/openid-configuration`]);
  });

  it("I7: an issuer's metadata must not contain endpoints without TLS, with credentials or with a fragment", async () => {
    for (const name of endpoints) {
      for (const url of [
        "http://id.example/x",
        "https://user@id.example/x",
        "https://:secret@id.example/x",
        "https://id.example/x#y",
        "//id.example/x",
        "/x",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:,x",
        "x",
      ]) {
        const { discover, state } = discovering();
        state.json = { ...good, [name]: url };
        await assert.rejects(discover(), isUnreachable, `${name} ${url}`);
      }
      for (const odd of [undefined, null, "", 1, [`${issuer}/x`], {}]) {
        const { discover, state } = discovering();
        state.json = { ...good, [name]: odd };
        if (required.includes(name)) await assert.rejects(discover(), isUnreachable, `${name} ${JSON.stringify(odd)}`);
        else await assert.doesNotReject(discover());
      }
    }
  });

  it("I7: an issuer's metadata may contain http endpoints if the issuer itself uses http", async () => {
    const { discover, state } = discovering("http://localhost:9000");
    const local = Object.fromEntries(endpoints.map((name) => [name, `http://localhost:9000/${name}`]));
    state.json = { ...local, issuer: "http://localhost:9000" };
    assert.equal((await discover()).tokenEndpoint, "http://localhost:9000/token_endpoint");
  });

  it("I1: an issuer's metadata does not enable disallowed algorithms", async () => {
    for (const [listed, taken] of [
      [undefined, ["RS256"]],
      ["RS512", ["RS256"]],
      [[], []],
      [["none", "HS256", "HS512", "RSA-OAEP", "ES256", "rs256", 1, null, ["RS256"]], ["ES256"]],
      [
        ["EdDSA", "RS512"],
        ["RS512", "EdDSA"],
      ],
    ] as const) {
      const { discover, state } = discovering();
      state.json = { ...good, id_token_signing_alg_values_supported: listed };
      assert.deepEqual((await discover()).algorithms, taken, JSON.stringify(listed));
    }
  });

  it("I1: an issuer's metadata is requested hourly, and every two seconds while there is no answer", async () => {
    const { discover, state, asked, clock } = discovering();
    state.status = 404;
    await assert.rejects(discover(), isUnreachable);
    await assert.rejects(discover(), isUnreachable);
    assert.equal(asked.length, 1);
    clock.pass(2_000);
    state.status = 200;
    await discover();
    clock.pass(3_600_000);
    await discover();
    assert.equal(asked.length, 2);
    clock.pass(1);
    await Promise.all([discover(), discover(), discover()]);
    assert.equal(asked.length, 3);
  });

  it("I1: an issuer's metadata is used for a day while the issuer does not answer, and no longer", async () => {
    const { discover, state, clock } = discovering();
    await discover();
    state.status = 500;
    clock.pass(24 * 3_600_000);
    await discover();
    clock.pass(2_000);
    await assert.rejects(discover(), isUnreachable);
  });
});
