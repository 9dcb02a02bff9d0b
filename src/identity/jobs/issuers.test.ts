import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { startOwnIssuer } from "../../../test/support/own-issuer.ts";
import type { Claims, OwnIssuer } from "../../../test/support/own-issuer.ts";
import { systemClock } from "../../lib/clock.ts";
import { createServer } from "../../lib/http.ts";
import type { Connection } from "../calls/provider-connection.ts";
import { LoginRefusal } from "../calls/identity.ts";
import { makeJobs } from "./login-jobs.ts";
import type { LoginJobs } from "./login-jobs.ts";

describe("calls to an issuer", () => {
  let issuer: OwnIssuer;
  let connection: Connection;
  let jobs: LoginJobs;
  before(async () => {
    issuer = await startOwnIssuer();
    connection = {
      kind: "oidc",
      provider: "",
      issuer: issuer.url,
      clientId: "c",
      clientSecret: "secret",
      scopes: ["openid", "profile", "email"],
      refreshes: true,
      baseUrl: "",
      graphVersion: "",
    };
  });
  after(() => issuer.stop());
  beforeEach(() => {
    Object.assign(issuer, { subject: "ada", userinfo: {}, forge: (claims: Claims) => issuer.sign(claims) });
    jobs = makeJobs({ clock: systemClock, allowLocal: true, issuers: [], ca: undefined, skewSeconds: 60 });
  });
  const renew = async (refresh = "rt") =>
    (await jobs.renew(connection, { access: "at", refresh, id: "" }, "ada")).identity;
  const isRefused = (error: unknown): boolean =>
    error instanceof LoginRefusal && error.reason === "login_token_invalid";

  it("calls to an issuer fetch the identity again, with and without a new token", async () => {
    issuer.userinfo = { email: "ada@new.example" };
    assert.equal((await renew("")).email, "ada@new.example");
    issuer.forge = () => "";
    assert.equal((await renew()).email, "ada@new.example");
    issuer.forge = (claims) => issuer.sign({ ...claims, email: "ada@signed.example" });
    assert.equal((await renew()).email, "ada@signed.example");
  });

  it("I5: calls to an issuer keep claims of the login's token that userinfo omits, if a check brings no new token", async () => {
    const log = {
      email: "ada@example.com",
      email_verified: true,
      name: "Ada L.",
      preferred_username: "ada",
      groups: ["staff"],
    };
    const id = issuer.sign({ sub: "ada", ...log });
    const again = async (token: string) => {
      const { identity } = await jobs.renew(connection, { access: "at", refresh: "rt", id: token }, "ada");
      const { email, emailVerified, name, username, memberships } = identity;
      return [email, emailVerified, name, username, memberships];
    };
    issuer.forge = () => "";
    issuer.userinfo = { name: undefined, groups: undefined };
    assert.deepEqual(await again(id), ["ada@example.com", true, "Ada L.", "ada", []], "groups may have been left");
    issuer.userinfo = { name: "Ada", email: "ada@new.example" };
    assert.deepEqual(
      await again(id),
      ["ada@new.example", false, "Ada", "ada", []],
      "nobody vouches for the new address",
    );
    issuer.userinfo = { name: "Ada", email: "ada@new.example", email_verified: true };
    assert.deepEqual(await again(id), ["ada@new.example", true, "Ada", "ada", []]);
    issuer.userinfo = { name: undefined };
    assert.deepEqual(await again(issuer.sign({ ...log, sub: "eve" })), ["", false, "", "", []]);
    issuer.forge = (claims) => issuer.sign({ ...claims, email: undefined, email_verified: undefined });
    assert.deepEqual(await again(id), ["", false, "", "", []], "a new token says all that there is to say");
  });

  it("I1: calls to an issuer never turn a session into another person's", async () => {
    issuer.subject = "eve";
    await assert.rejects(renew(), isRefused, "a token and userinfo of another");
    await assert.rejects(renew(""), isRefused, "userinfo of another");
    issuer.forge = () => "";
    await assert.rejects(renew(), isRefused, "no token, and userinfo of another");
    issuer.subject = "ada";
    issuer.forge = (claims) => issuer.sign({ ...claims, sub: "eve" });
    await assert.rejects(renew(), isRefused, "a token of another");
  });

  it("I1: calls to an issuer accept keys only from answers of status 200, and request them at most every two seconds", async () => {
    const clock = makeManualClock();
    clock.step(Date.now() - clock.now());
    jobs = makeJobs({ clock, allowLocal: true, issuers: [], ca: undefined, skewSeconds: 60 });
    const asked = (): number => issuer.calls.filter((path) => path === "/jwks").length;
    const before = asked();
    issuer.statuses = { "/jwks": 404 };
    for (const count of [1, 1, 1]) {
      await assert.rejects(renew(), (error) => error instanceof LoginRefusal && error.reason === "login_unreachable");
      assert.equal(asked() - before, count);
    }
    issuer.statuses = {};
    clock.pass(2_000);
    assert.equal((await renew()).subject, "ada");
    assert.equal(asked() - before, 2);
  });

  it("I1: calls to an issuer reject an invalid renewed token", async () => {
    const hour = 3_600;
    for (const [what, forge] of Object.entries<OwnIssuer["forge"]>({
      "another key": (claims) => issuer.sign(claims, {}, issuer.other),
      "another algorithm": (claims) => issuer.sign(claims, { alg: "RS512" }),
      "another issuer": (claims) => issuer.sign({ ...claims, iss: "https://evil.example" }),
      "another client": (claims) => issuer.sign({ ...claims, aud: "d" }),
      "another type": (claims) => issuer.sign(claims, { typ: "at+jwt" }),
      "another access token": (claims) => issuer.sign({ ...claims, at_hash: "x" }),
      "the past": (claims) => issuer.sign({ ...claims, iat: (claims["iat"] as number) - hour }),
    })) {
      issuer.forge = forge;
      await assert.rejects(renew(), isRefused, what);
    }
  });

  it("I7: calls to issuers remember the 1,000 that were used last, and forget the rest", async () => {
    const calls: string[] = [];
    const server = createServer((request, response) => {
      calls.push(request.url ?? "");
      const own = `${url}${(request.url ?? "").replace("/.well-known/openid-configuration", "")}`;
      const endpoints = ["authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"];
      const configuration = Object.fromEntries(endpoints.map((name) => [name, `${own}/${name}`]));
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ issuer: own, ...configuration, id_token_signing_alg_values_supported: ["RS256"] }));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://localhost:${(server.address() as AddressInfo).port}`;
    const ask = (number: number) => jobs.metadata({ ...connection, issuer: `${url}/${number}` });
    try {
      for (let number = 0; number < 1000; number += 1) await ask(number);
      await ask(0);
      assert.equal(calls.length, 1000, "all are remembered");
      await ask(1000);
      await ask(0);
      await ask(1000);
      assert.equal(calls.length, 1001, "the one that was used last is kept");
      await ask(1);
      assert.equal(calls.length, 1002, "the one that was unused for longest was forgotten");
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
