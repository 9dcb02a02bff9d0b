/** I1: an issuer that is real in everything but what it signs: each forgery, and each claim of each odd kind. */
import assert from "node:assert/strict";
import { createHash, createHmac, randomUUID } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { CompactSign, exportJWK, exportSPKI, generateKeyPair } from "jose";
import type { CryptoKey } from "jose";
import { createServer } from "../../src/lib/http.ts";
import { issuerTag } from "../../src/identity/realm.ts";
import { codeOf, startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";

type Claims = Record<string, unknown>;
/** Makes the id_token of the next login. */
type Forge = (claims: Claims) => Promise<string>;

const json = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

describe("I1: an id_token", () => {
  let world: LoginWorld;
  let issuer: string;
  let stop: () => void;
  let key: CryptoKey;
  let other: CryptoKey;
  let spki: string;
  let forge: Forge;
  let userinfo: Claims = {};
  const calls: string[] = [];
  const sign = async (payload: Claims | string, header: Claims = {}, by = key): Promise<string> =>
    await new CompactSign(Buffer.from(typeof payload === "string" ? payload : JSON.stringify(payload)))
      .setProtectedHeader({ alg: "RS256", kid: "k", ...header })
      .sign(by);
  const honest: Forge = (claims) => sign(claims);

  before(async () => {
    world = await startLoginWorld();
    const pair = await generateKeyPair("RS256", { extractable: true });
    ({ privateKey: key } = pair);
    ({ privateKey: other } = await generateKeyPair("RS256", { extractable: true }));
    spki = await exportSPKI(pair.publicKey);
    const jwk = { ...(await exportJWK(pair.publicKey)), kid: "k", use: "sig" };
    const asked = new Map<string, string>();
    const server = createServer((request, response) => {
      const url = new URL(request.url ?? "/", issuer);
      calls.push(url.pathname);
      const send = (body: unknown): void => {
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
      };
      if (url.pathname === "/authorize") {
        const code = randomUUID();
        asked.set(code, url.searchParams.get("nonce") ?? "");
        const back = new URL(url.searchParams.get("redirect_uri") ?? "");
        back.searchParams.set("code", code);
        back.searchParams.set("state", url.searchParams.get("state") ?? "");
        response.writeHead(302, { location: back.href }).end();
      } else if (url.pathname === "/token") {
        request.resume();
        const nonce = [...asked.values()].at(-1);
        const now = Math.floor(Date.now() / 1000);
        const claims = {
          iss: issuer,
          aud: "c",
          sub: "ada",
          iat: now,
          exp: now + 300,
          nonce,
          email: "ada@example.com",
          email_verified: true,
        };
        void forge(claims).then((id_token) => send({ access_token: "at", token_type: "Bearer", id_token }));
      } else if (url.pathname === "/jwks") send({ keys: [jwk] });
      else if (url.pathname === "/userinfo") send({ sub: "ada", name: "Ada", groups: [], ...userinfo });
      else if (url.pathname === "/.well-known/openid-configuration") {
        send({
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          userinfo_endpoint: `${issuer}/userinfo`,
          jwks_uri: `${issuer}/jwks`,
          id_token_signing_alg_values_supported: ["RS256"],
        });
      } else send({ keys: [] });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
    stop = () => {
      server.closeAllConnections();
      server.close();
    };
    await world.route("/", { oidc: { issuer, client_id: "c", client_secret: "the-secret-of-the-client" } });
  });
  after(async () => {
    await world.stop();
    stop();
  });

  const outcome = async (how: Forge): Promise<string> => {
    forge = how;
    const browser = world.browser();
    const answer = await browser.visit(`${world.origin()}/`);
    const hasSession = browser.cookieNames(world.origin()).some((name) => name.includes("session"));
    return `${answer.status}${codeOf(answer)} ${hasSession ? "session" : "none"}`;
  };

  it("lets in when it keeps to everything", async () => {
    assert.equal(await outcome(honest), "200 session");
    assert.equal(
      await outcome((claims) => sign({ ...claims, aud: ["c", "d"], azp: "c", extra: { deep: [1] } }, { typ: "JWT" })),
      "200 session",
    );
  });

  const now = (): number => Math.floor(Date.now() / 1000);
  const forgeries: Readonly<Record<string, Forge>> = {
    "is not signed": async (claims) => `${json({ alg: "none" })}.${json(claims)}.`,
    "has lost its signature": async (claims) => `${(await sign(claims)).split(".").slice(0, 2).join(".")}.`,
    "has an altered signature": async (claims) => `${(await sign(claims)).slice(0, -6)}AAAAAA`,
    "has content that another signature covers": async (claims) => {
      const [header, , signature] = (await sign(claims)).split(".");
      return `${header}.${json({ ...claims, sub: "eve" })}.${signature}`;
    },
    "is signed by another key": (claims) => sign(claims, {}, other),
    "is signed by another key without an id": (claims) => sign(claims, { kid: undefined } as never, other),
    "brings its key along": async (claims) => sign(claims, { jwk: await exportJWK(other) }, other),
    "says where its key is": (claims) =>
      sign(claims, { jku: `${issuer}/evil`, x5u: `${issuer}/evil`, kid: "evil" }, other),
    "has a key id that is a path": (claims) => sign(claims, { kid: "../../etc/passwd" }),
    "is signed by the client's secret": async (claims) => {
      const content = `${json({ alg: "HS256", kid: "k" })}.${json(claims)}`;
      return `${content}.${createHmac("sha256", "the-secret-of-the-client").update(content).digest("base64url")}`;
    },
    "is signed with the public key as a secret": async (claims) => {
      const content = `${json({ alg: "HS256", kid: "k" })}.${json(claims)}`;
      return `${content}.${createHmac("sha256", spki).update(content).digest("base64url")}`;
    },
    "is signed in a way that the issuer does not list": (claims) => sign(claims, { alg: "RS512" }).catch(() => "a.b.c"),
    "has critical extensions": async (claims) => {
      const content = `${json({ alg: "RS256", kid: "k", crit: ["exp"], exp: 1 })}.${json(claims)}`;
      return `${content}.${"A".repeat(342)}`;
    },
    "is of another type": (claims) => sign(claims, { typ: "at+jwt" }),
    "names a claim twice": (claims) => sign(JSON.stringify(claims).replace('"sub":"ada"', '"sub":"eve","sub":"ada"')),
    "is encrypted": async () => `${json({ alg: "RSA-OAEP", enc: "A256GCM" })}.a.b.c.d`,
    "is of another issuer": (claims) => sign({ ...claims, iss: `${issuer}/` }),
    "is for another client": (claims) => sign({ ...claims, aud: "d" }),
    "is for several, and not said for whom": (claims) => sign({ ...claims, aud: ["c", "d"] }),
    "is made out to another client": (claims) => sign({ ...claims, azp: "d" }),
    "has expired": (claims) => sign({ ...claims, exp: now() - 120 }),
    "is issued tomorrow": (claims) => sign({ ...claims, iat: now() + 86_400 }),
    "was issued a year ago": (claims) => sign({ ...claims, iat: now() - 31_536_000 }),
    "is not valid yet": (claims) => sign({ ...claims, nbf: now() + 3_600 }),
    "has another nonce": (claims) => sign({ ...claims, nonce: "another" }),
    "belongs to another access token": (claims) =>
      sign({ ...claims, at_hash: createHash("sha256").update("x").digest("base64url").slice(0, 22) }),
    "is longer than any": (claims) =>
      sign({ ...claims, extra: "x".repeat(50_000) }).then((token) => token + "A".repeat(20_000)),
  };
  for (const [what, how] of Object.entries(forgeries)) {
    it(`lets nobody in when it ${what}`, async () => {
      const before = calls.length;
      assert.match(await outcome(how), /^502(3164|3160) none$/);
      assert.ok(
        !calls.slice(before).some((path) => path.includes("evil")),
        "nothing is fetched from where a token says",
      );
    });
  }

  for (const claim of ["iss", "aud", "sub", "exp", "iat", "nonce"]) {
    it(`lets nobody in without ${claim}, or with one of an odd kind`, async () => {
      for (const odd of [undefined, null, "", [], {}, true, -1, ["c", 1], { c: "c" }, "\0"]) {
        assert.equal(await outcome((claims) => sign({ ...claims, [claim]: odd })), "5023164 none", JSON.stringify(odd));
      }
    });
  }

  it("I1: an id_token of a log-out ends the sessions that it names, once, and no others", async () => {
    const account = (await world.platform.api("GET", "/accounts")).body.accounts[0].id as string;
    const url = `${world.origin("idp.localhost")}/oidc/${issuerTag(account, issuer)}/backchannel-logout`;
    const browser = world.browser();
    forge = honest;
    assert.equal((await browser.visit(`${world.origin()}/`)).status, 200);
    const status = async (): Promise<number> =>
      (await browser.ask(`${world.origin()}/`, { headers: { accept: "text/html" } })).status;
    const tell = async (change: Claims, header: Claims = { typ: "logout+jwt" }, by = key): Promise<number> => {
      const events = { "http://schemas.openid.net/event/backchannel-logout": {} };
      const claims = {
        iss: issuer,
        aud: "c",
        sub: "ada",
        iat: now(),
        exp: now() + 60,
        jti: randomUUID(),
        events,
        ...change,
      };
      const body = `logout_token=${await sign(claims, header, by)}`;
      return (await world.browser().ask(url, { method: "POST", body })).status;
    };
    const refused: readonly (readonly [Claims, Claims?, CryptoKey?])[] = [
      [{ nonce: "x" }],
      [{ events: {} }],
      [{ events: undefined }],
      [{ jti: undefined }],
      [{ aud: "d" }],
      [{ iss: `${issuer}/` }],
      [{ sub: undefined }],
      [{ iat: now() - 86_400 }],
      [{}, { typ: "at+jwt" }],
      [{}, {}, other],
    ];
    for (const one of refused) assert.equal(await tell(...one), 400, JSON.stringify(one));
    assert.equal(await tell({ sub: "eve" }), 200);
    assert.equal(await status(), 200);
    const jti = randomUUID();
    assert.equal(await tell({ jti }), 200);
    assert.equal(await status(), 302);
    assert.equal(await tell({ jti }), 400, "told before");
  });

  it("lets nobody in whose userinfo is of another subject", async () => {
    for (const sub of ["eve", "", null, 1]) {
      userinfo = { sub };
      assert.equal(await outcome(honest), "5023164 none", String(sub));
    }
    userinfo = {};
  });
});
