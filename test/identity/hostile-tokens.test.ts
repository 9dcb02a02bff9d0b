/**
 * I1: an issuer that behaves correctly except for what it signs: each forgery, and each claim with each invalid type.
 */
import assert from "node:assert/strict";
import { createHash, createPublicKey } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { issuerTag } from "../../src/identity/browser/realm.ts";
import { codeOf, seen, startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import { startOwnIssuer } from "../support/own-issuer.ts";
import type { Claims, Forge, OwnIssuer } from "../support/own-issuer.ts";
import { base64url, makeSharedSecretToken } from "../support/tokens.ts";

const secret = "the-secret-of-the-client";

describe("I1: an id_token", () => {
  let world: LoginWorld;
  let issuer: OwnIssuer;
  const sign: OwnIssuer["sign"] = (...given) => issuer.sign(...given);
  const honest: Forge = (claims) => sign(claims);
  /** A key that does not belong to the issuer. */
  const jwk = (): object => createPublicKey(issuer.other).export({ format: "jwk" });

  before(async () => {
    world = await startLoginWorld();
    issuer = await startOwnIssuer();
    const client = { client_id: "c", client_secret: secret };
    await world.route("/", { oidc: { issuer: issuer.url, ...client } });
  });
  after(async () => {
    await world.stop();
    await issuer.stop();
  });

  const outcome = async (how: Forge): Promise<string> => {
    issuer.forge = how;
    const browser = world.browser();
    const answer = await browser.visit(`${world.origin()}/`);
    const hasSession = browser.cookieNames(world.origin()).some((name) => name.includes("session"));
    return `${answer.status}${codeOf(answer)} ${hasSession ? "session" : "none"}`;
  };

  it("an id_token admits the visitor if it follows all rules", async () => {
    assert.equal(await outcome(honest), "200 session");
    assert.equal(
      await outcome((claims) => sign({ ...claims, aud: ["c", "d"], azp: "c", extra: { deep: [1] } }, { typ: "JWT" })),
      "200 session",
    );
  });

  const now = (): number => Math.floor(Date.now() / 1000);
  const forgeries: Readonly<Record<string, Forge>> = {
    "is not signed": (claims) => `${base64url({ alg: "none" })}.${base64url(claims)}.`,
    "has lost its signature": (claims) => `${sign(claims).split(".").slice(0, 2).join(".")}.`,
    "has an altered signature": (claims) => `${sign(claims).slice(0, -6)}AAAAAA`,
    "has content that another signature covers": (claims) => {
      const [header, , signature] = sign(claims).split(".");
      return `${header}.${base64url({ ...claims, sub: "eve" })}.${signature}`;
    },
    "is signed by another key": (claims) => sign(claims, {}, issuer.other),
    "is signed by another key without an id": (claims) => sign(claims, { kid: undefined }, issuer.other),
    "contains its own key": (claims) => sign(claims, { jwk: jwk() }, issuer.other),
    "contains its own key under a new id": (claims) =>
      sign(claims, { kid: "mine", jwk: { ...jwk(), kid: "mine" } }, issuer.other),
    "names the address of its key": (claims) =>
      sign(claims, { jku: `${issuer.url}/evil`, x5u: `${issuer.url}/evil`, kid: "evil" }, issuer.other),
    "has a key id that is a path": (claims) => sign(claims, { kid: "../../etc/passwd" }),
    "is signed with a key of the set, under an id that is not in the set": (claims) => sign(claims, { kid: "l" }),
    "is signed by the client's secret": (claims) => makeSharedSecretToken(claims, secret, { kid: "k" }),
    "is signed with the public key as a secret": (claims) => {
      const pem = createPublicKey(issuer.key).export({ type: "spki", format: "pem" });
      return makeSharedSecretToken(claims, pem, { kid: "k" });
    },
    "is signed with an algorithm that the issuer does not list": (claims) => sign(claims, { alg: "RS512" }),
    "is signed with another algorithm of the same kind of key": (claims) => sign(claims, { alg: "PS256" }),
    "has critical extensions": (claims) => sign(claims, { crit: ["exp"], exp: 1 }),
    "has a payload in another encoding": (claims) => sign(claims, { b64: false }),
    "has another type": (claims) => sign(claims, { typ: "at+jwt" }),
    "names a claim twice": (claims) => sign(JSON.stringify(claims).replace('"sub":"ada"', '"sub":"eve","sub":"ada"')),
    "is encrypted": () => `${base64url({ alg: "RSA-OAEP", enc: "A256GCM" })}.a.b.c.d`,
    "names another issuer": (claims) => sign({ ...claims, iss: `${issuer.url}/` }),
    "is for another client": (claims) => sign({ ...claims, aud: "d" }),
    "is for several clients, and names no authorized party": (claims) => sign({ ...claims, aud: ["c", "d"] }),
    "names another client as the authorized party": (claims) => sign({ ...claims, azp: "d" }),
    "has expired": (claims) => sign({ ...claims, exp: now() - 120 }),
    "is issued tomorrow": (claims) => sign({ ...claims, iat: now() + 86_400 }),
    "was issued a year ago": (claims) => sign({ ...claims, iat: now() - 31_536_000 }),
    "is not valid yet": (claims) => sign({ ...claims, nbf: now() + 3_600 }),
    "has another nonce": (claims) => sign({ ...claims, nonce: "another" }),
    "belongs to another access token": (claims) =>
      sign({ ...claims, at_hash: createHash("sha256").update("x").digest("base64url").slice(0, 22) }),
    "is too long": (claims) => sign({ ...claims, extra: "x".repeat(50_000) }),
  };
  for (const [what, how] of Object.entries(forgeries)) {
    it(`an id_token does not admit the visitor if it ${what}`, async () => {
      const before = issuer.calls.length;
      assert.match(await outcome(how), /^502(3164|3160) none$/);
      assert.ok(
        !issuer.calls.slice(before).some((path) => path.includes("evil")),
        "nothing is fetched from where a token says",
      );
    });
  }

  for (const claim of ["iss", "aud", "sub", "exp", "iat", "nonce"]) {
    it(`an id_token does not admit the visitor if ${claim} is missing or has an invalid type`, async () => {
      for (const odd of [undefined, null, "", [], {}, true, -1, ["c", 1], { c: "c" }, "c".repeat(256)]) {
        // Otherwise the userinfo would have another subject.
        issuer.userinfo = claim === "sub" ? { sub: odd } : {};
        assert.equal(await outcome((claims) => sign({ ...claims, [claim]: odd })), "5023164 none", JSON.stringify(odd));
      }
      issuer.userinfo = {};
    });
  }

  it("I1: an id_token of a logout is accepted once", async () => {
    const account = (await world.platform.api("GET", "/accounts")).body.accounts[0].id as string;
    const url = `${world.origin("idp.localhost")}/oidc/${issuerTag(account, issuer.url)}/backchannel-logout`;
    const events = { "http://schemas.openid.net/event/backchannel-logout": {} };
    const told = { iss: issuer.url, aud: "c", sub: "ada", iat: now(), exp: now() + 60, jti: "1", events };
    const body = `logout_token=${sign(told, { typ: "logout+jwt" })}`;
    for (const expected of [200, 400]) {
      assert.equal((await world.browser().ask(url, { method: "POST", body })).status, expected);
    }
  });

  it("I1: an id_token is not requested if the callback names another issuer, or none although the issuer announces it", async () => {
    const [silent, telling] = await Promise.all([startOwnIssuer(), startOwnIssuer()]);
    try {
      telling.configuration = { authorization_response_iss_parameter_supported: true };
      for (const [path, of, others] of [
        ["/silent", silent, []],
        ["/telling", telling, [{}]],
      ] as const) {
        await world.route(path, { oidc: { issuer: of.url, client_id: "c", client_secret: secret } });
        const codeAfter = async (returns: OwnIssuer["returns"]): Promise<string> => {
          of.returns = returns;
          return codeOf(await world.browser().visit(world.origin() + path));
        };
        const wrong = [issuer.url, `${of.url}/`, of.url.toUpperCase(), ""].map((iss) => ({ iss }));
        for (const returns of [...wrong, ...others]) {
          assert.equal(await codeAfter(returns), "3124", `${path} ${JSON.stringify(returns)}`);
        }
        assert.ok(!of.calls.includes("/token"), path);
        assert.equal(await codeAfter({ iss: of.url }), "");
      }
    } finally {
      await Promise.all([silent.stop(), telling.stop()]);
    }
  });

  it("an id_token does not admit a visitor who had to log in again, unless it proves the new login", async () => {
    for (const [auth_time, expected] of [
      [undefined, "3164"],
      ["now", "3164"],
      [now() - 3_600, "3164"],
      [now(), ""],
    ] as const) {
      const browser = world.browser();
      issuer.forge = honest;
      assert.equal((await browser.visit(`${world.origin()}/`)).status, 200);
      issuer.forge = (claims) => sign({ ...claims, auth_time });
      const answer = await browser.visit(`${world.origin()}/.postern/login?path=/`);
      assert.equal(codeOf(answer), expected, String(auth_time));
    }
  });

  it("an id_token that is missing does not admit the visitor", async () => {
    assert.equal(await outcome(() => ""), "5023164 none");
  });

  it("an id_token overrides userinfo, which adds the missing claims", async () => {
    issuer.userinfo = { email: "eve@example.com", email_verified: true, name: "Eve", groups: ["admins"] };
    issuer.forge = (claims) => sign({ ...claims, email: "ada@example.com", name: undefined });
    const told = seen(await world.browser().visit(`${world.origin()}/`));
    issuer.userinfo = {};
    assert.deepEqual([told["ngrok-auth-user-email"], told["ngrok-auth-user-name"]], ["ada@example.com", "Eve"]);
  });

  it("I1: an id_token causes no request for keys if its algorithm is not one of the issuer's", async () => {
    const fresh = await startOwnIssuer();
    try {
      await world.route("/fresh", { oidc: { issuer: fresh.url, client_id: "c", client_secret: secret } });
      for (const forge of [
        (claims: Claims) => `${base64url({ alg: "none", kid: "k" })}.${base64url(claims)}.`,
        (claims: Claims) => makeSharedSecretToken(claims, secret, { kid: "k" }),
        (claims: Claims) => fresh.sign(claims, { alg: "RS512" }),
      ]) {
        fresh.forge = forge;
        assert.equal(codeOf(await world.browser().visit(`${world.origin()}/fresh`)), "3164");
      }
      assert.deepEqual(
        fresh.calls.filter((path) => path === "/jwks"),
        [],
      );
    } finally {
      await fresh.stop();
    }
  });

  it("an id_token does not admit the visitor if the userinfo has another subject", async () => {
    for (const sub of ["eve", "", null, 1]) {
      issuer.userinfo = { sub };
      assert.equal(await outcome(honest), "5023164 none", String(sub));
    }
    issuer.userinfo = {};
  });
});
