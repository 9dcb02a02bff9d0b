/** Responses that OAuth and OpenID Connect allow and that real providers send. Each of them logs its visitor in. */
import assert from "node:assert/strict";
import { createPublicKey } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { codeOf, seen, startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import { startOwnIssuer } from "../support/own-issuer.ts";
import type { OwnIssuer } from "../support/own-issuer.ts";

describe("choices that OAuth and OpenID Connect leave open", () => {
  let world: LoginWorld;
  const issuers: OwnIssuer[] = [];
  before(async () => {
    world = await startLoginWorld();
  });
  after(async () => {
    await world.stop();
    for (const issuer of issuers) await issuer.stop();
  });
  let routes = 0;
  /** Returns a separate issuer for the case, because the login thread caches an issuer's documents. */
  const issuerWith = async (
    change: Partial<OwnIssuer> | ((issuer: OwnIssuer) => void),
    named = (url: string) => url,
  ) => {
    const issuer = await startOwnIssuer();
    issuers.push(issuer);
    if (typeof change === "function") change(issuer);
    else Object.assign(issuer, change);
    const path = `/r${(routes += 1)}`;
    await world.route(path, { oidc: { issuer: named(issuer.url), client_id: "c", client_secret: "secret" } });
    return { issuer, path };
  };
  const google = [
    "openid",
    "https://www.googleapis.com/auth/userinfo.email",
    "https://www.googleapis.com/auth/userinfo.profile",
  ];

  const jwkOf = (issuer: OwnIssuer): object => createPublicKey(issuer.key).export({ format: "jwk" });
  const cases: Readonly<Record<string, Partial<OwnIssuer> | ((issuer: OwnIssuer) => void)>> = {
    "scopes repeated under other names, as Google does": { granted: { scope: google.join(" ") } },
    "fewer scopes than were asked for": { granted: { scope: "openid" } },
    "scopes as an empty text": { granted: { scope: "" } },
    "scopes as a list": { granted: { scope: ["openid"] } },
    "scopes as a number": { granted: { scope: 1 } },
    "a token type in lower case": { granted: { token_type: "bearer" } },
    "a token type in upper case": { granted: { token_type: "BEARER" } },
    "no token type": { granted: { token_type: undefined } },
    "an expiry as text": { granted: { expires_in: "3600" } },
    "an expiry that is not a number": { granted: { expires_in: null } },
    "members outside the standards": { granted: { "not-before-policy": 0, session_state: "x", ext: { deep: [1] } } },
    "no refresh token": { granted: { refresh_token: undefined } },
    "parameters outside the standards": { returns: { session_state: "x", hd: "example.com", authuser: "0" } },
    "an audience that is a list of one": (issuer) => {
      issuer.forge = (claims) => issuer.sign({ ...claims, aud: [claims["aud"]] });
    },
    "an authorized party": (issuer) => {
      issuer.forge = (claims) => issuer.sign({ ...claims, aud: [claims["aud"], "api"], azp: claims["aud"] });
    },
    "a clock that is a minute ahead": (issuer) => {
      issuer.forge = ({ iat, ...claims }) => issuer.sign({ ...claims, iat: Number(iat) + 55, nbf: Number(iat) + 55 });
    },
    "a clock that is a minute behind": (issuer) => {
      issuer.forge = ({ iat, ...claims }) => issuer.sign({ ...claims, iat: Number(iat) - 55, exp: Number(iat) - 55 });
    },
    "a past time from which the token is valid, as Microsoft does": (issuer) => {
      issuer.forge = ({ iat, ...claims }) => issuer.sign({ ...claims, iat: Number(iat) - 300, nbf: Number(iat) - 300 });
    },
    "keys without a name, a use and an algorithm": (issuer) => {
      issuer.keySet = [jwkOf(issuer)];
    },
    "a token that does not name its key": (issuer) => {
      issuer.forge = (claims) => issuer.sign(claims, { kid: undefined });
    },
    "userinfo as a signed token": (issuer) => {
      issuer.signsUserinfo = (claims) => issuer.sign({ ...claims, iss: issuer.url, aud: "c" });
    },
    "userinfo as a signed token without issuer and audience": (issuer) => {
      issuer.signsUserinfo = (claims) => issuer.sign(claims);
    },
    "JSON with parameters in its type": { contentType: "application/json;charset=UTF-8" },
    "JSON under the type of plain text": { contentType: "text/plain; charset=utf-8" },
    "JSON under the type of any bytes": { contentType: "application/octet-stream" },
    "JSON without a content type": { contentType: undefined },
    "claims that are null": (issuer) => {
      issuer.forge = (claims) => issuer.sign({ ...claims, name: null, groups: null, nickname: null });
    },
    "groups as one text": { userinfo: { groups: "staff" } },
  };
  for (const [what, change] of Object.entries(cases)) {
    it(`choices that OAuth and OpenID Connect leave open: a visitor is admitted whose provider answers with ${what}`, async () => {
      const { path } = await issuerWith(change);
      const answer = await world.browser().visit(world.origin() + path);
      assert.equal(`${answer.status} ${codeOf(answer)}`, "200 ", answer.text);
      assert.equal(seen(answer)["ngrok-auth-user-id"], "ada");
      assert.equal(seen(answer)["ngrok-auth-user-name"], "Ada");
    });
  }

  for (const [what, spelled, configured] of [
    ["a slash at its end that its configuration has", "/", ""],
    ["no slash at its end though its route has one", "", "/"],
  ] as const) {
    it(`choices that OAuth and OpenID Connect leave open: an issuer with ${what} is accepted, with tokens and callbacks of only that spelling`, async () => {
      const { issuer, path } = await issuerWith(
        (one) => {
          const iss = one.url + spelled;
          one.configuration = { issuer: iss, authorization_response_iss_parameter_supported: true };
          one.returns = { iss };
          one.forge = (claims) => one.sign({ ...claims, iss });
        },
        (url) => url + configured,
      );
      const visit = async (): Promise<string> => codeOf(await world.browser().visit(world.origin() + path));
      assert.equal(await visit(), "");
      const { forge } = issuer;
      issuer.forge = (claims) => issuer.sign({ ...claims, iss: issuer.url + configured });
      assert.equal(await visit(), "3164");
      issuer.forge = forge;
      issuer.returns = { iss: issuer.url + configured };
      assert.equal(await visit(), "3124");
    });
  }

  it("I1: an issuer's userinfo is rejected if it is signed with another key, for another client or for another subject", async () => {
    const { issuer, path } = await issuerWith({});
    for (const sign of [
      (claims: object) => issuer.sign({ ...claims }, {}, issuer.other),
      (claims: object) => issuer.sign({ ...claims, aud: "d" }),
      (claims: object) => issuer.sign({ ...claims, iss: "https://evil.example" }),
      (claims: object) => issuer.sign({ ...claims, sub: "eve" }),
      () => "no.token.either",
    ]) {
      issuer.signsUserinfo = sign;
      assert.equal(codeOf(await world.browser().visit(world.origin() + path)), "3164");
    }
  });

  it("choices that OAuth and OpenID Connect leave open: the trace of the login records scopes that the provider did not repeat", async () => {
    const { path } = await issuerWith({ granted: { scope: google.join(" ") } });
    const isDone = (url: string): boolean => url === world.origin() + path;
    const back = await world.browser().visit(world.origin() + path, { stop: isDone });
    const { steps } = (await world.platform.api("GET", `/requests/${String(back.headers["x-request-id"])}`)).body;
    assert.match(JSON.stringify(steps), /did not repeat \\"profile\\", \\"email\\" in \\"scope\\"/);
  });
});
