import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { describe, it } from "node:test";
import { exchangeOf } from "../../../test/support/exchange.ts";
import type { ExchangeInit } from "../../../test/support/exchange.ts";
import { makeManualClock } from "../../../test/support/clock.ts";
import { faultsOf, makeAction } from "../../../test/support/policy-action.ts";
import { jwkOf, makeSharedSecretToken, makeToken } from "../../../test/support/tokens.ts";
import { openKeySets } from "../../jose/key-sets.ts";
import { jwtValidation } from "./jwt-validation.ts";

const iss = "https://idp.example.test/";
const url = "https://idp.example.test/jwks.json";
const token = { type: "jwt", method: "header", name: "Authorization", prefix: "Bearer " };
const config = {
  issuer: { allow_list: [{ value: iss }] },
  audience: { allow_list: [{ value: "shop" }] },
  http: { tokens: [token] },
  jws: { allowed_algorithms: ["RS256", "ES256"], keys: { sources: { additional_jkus: [url] } } },
};

function setUp(
  change: object = {},
  sets: Record<string, object[] | undefined> = { [url]: [jwkOf("RS256", { kid: "k" })] },
) {
  const clock = makeManualClock();
  const asked: string[] = [];
  const keySets = openKeySets({
    clock,
    async send({ url: { href } }) {
      asked.push(href);
      const keys = sets[href];
      if (!keys) throw new Error("no answer");
      const text = JSON.stringify({ keys });
      return { status: 200, headers: {}, body: Buffer.from(text), text, address: "192.0.2.1" };
    },
    close() {},
  });
  const action = makeAction(jwtValidation, { ...config, ...change }, { keySets }, clock);
  const claims = { iss, aud: "shop", sub: "u1", exp: clock.now() / 1000 + 3600 };
  const sign = (more: object = {}, header: object = { kid: "k" }) => makeToken("RS256", { ...claims, ...more }, header);
  const outcome = async (init: ExchangeInit) => {
    const { end, result } = await action.run(exchangeOf(init));
    const reason = end?.by === "refusal" && "error" in end.answer ? end.answer.error : end?.by;
    return { reason, result, end };
  };
  const bearer = async (text: string) => (await outcome({ headers: { authorization: `Bearer ${text}` } })).reason;
  return { clock, asked, action, claims, sign, outcome, bearer };
}

describe("jwt-validation", () => {
  it("jwt-validation lets requests with a valid token pass, and gives later rules its content", async () => {
    const { sign, outcome } = setUp();
    const { reason, result } = await outcome({ headers: { authorization: `Bearer ${sign()}` } });
    assert.equal(reason, undefined);
    const [first] = (result?.["tokens"] ?? []) as unknown as Record<string, unknown>[];
    assert.equal((first?.["payload"] as { sub: string } | undefined)?.sub, "u1");
    assert.equal((first?.["header"] as { kid: string } | undefined)?.kid, "k");
    assert.deepEqual(
      [first?.["location"], first?.["location_property"], first?.["verified"]],
      ["header", "Authorization", true],
    );
  });

  it("jwt-validation rejects requests with a challenge, and reports the reason for each error", async () => {
    const { claims, sign, bearer, outcome, clock } = setUp();
    const now = clock.now() / 1000;
    const other = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const { reason, end, result } = await outcome({});
    assert.equal(reason, "token_missing");
    assert.deepEqual(end?.by === "refusal" && end.answer.headers, { "www-authenticate": "Bearer" });
    assert.equal((result?.["error"] as { code: string } | undefined)?.code, "ERR_NGROK_3401");
    const rows: readonly (readonly [text: string, reason: string])[] = [
      ["no token", "token_unreadable"],
      [`${sign()}x`, "token_unreadable"],
      [makeToken("ES384", claims), "token_algorithm_refused"],
      [makeSharedSecretToken(claims, JSON.stringify(jwkOf("RS256"))), "token_algorithm_refused"],
      [makeToken("ES256", claims), "token_key_unknown"],
      [sign({}, { kid: "other" }), "token_key_unknown"],
      [makeToken("RS256", claims, { kid: "k" }, other), "token_signature_wrong"],
      [makeToken("RS256", claims, { jwk: other.publicKey.export({ format: "jwk" }) }, other), "token_signature_wrong"],
      [sign({ exp: now - 61 }), "token_expired"],
      [sign({ exp: undefined }), "token_expired"],
      [sign({ nbf: now + 61 }), "token_too_early"],
      [sign({ iat: now + 61 }), "token_too_early"],
      [sign({ exp: "soon" }), "token_unreadable"],
      [sign({ iss: iss.slice(0, -1) }), "token_issuer_wrong"],
      [sign({ aud: "desk" }), "token_audience_wrong"],
      [sign({}, { kid: "k", typ: "logout+jwt" }), "token_type_wrong"],
    ];
    for (const [text, expected] of rows) assert.equal(await bearer(text), expected);
  });

  it("jwt-validation accepts the prefix in any case, and a single field only", async () => {
    const { sign, outcome } = setUp();
    const text = sign();
    for (const [headers, reason] of [
      [[["authorization", `bearer ${text}`]], undefined],
      [[["authorization", text]], "token_missing"],
      [[["authorization", "Bearer "]], "token_missing"],
      [[["authorization", `Basic ${text}`]], "token_missing"],
      [
        [
          ["authorization", `Bearer ${text}`],
          ["authorization", `Bearer ${text}`],
        ],
        "token_missing",
      ],
    ] as const) {
      assert.equal((await outcome({ headers: headers as unknown as [string, string][] })).reason, reason);
    }
  });

  it("jwt-validation finds tokens in JSON and form bodies, and never in the query", async () => {
    const { sign, outcome } = setUp({ http: { tokens: [{ type: "jwt", method: "body", name: "id_token" }] } });
    const text = sign();
    const json = { "content-type": "application/json; charset=utf-8" };
    const form = { "content-type": "application/x-www-form-urlencoded" };
    for (const [init, reason] of [
      [{ method: "POST", headers: json, body: JSON.stringify({ id_token: text }) }, undefined],
      [{ method: "PUT", headers: form, body: `a=b&id_token=${text}` }, undefined],
      [{ method: "GET", headers: json, body: JSON.stringify({ id_token: text }) }, "token_missing"],
      [{ method: "POST", headers: json, body: `{"id_token":"x","id_token":"${text}"}` }, "token_missing"],
      [{ method: "POST", headers: json, body: `["${text}"]` }, "token_missing"],
      [{ method: "POST", headers: json, body: JSON.stringify({ a: { id_token: text } }) }, "token_missing"],
      [{ method: "POST", headers: form, body: `id_token=x&id_token=${text}` }, "token_missing"],
      [{ method: "POST", headers: { "content-type": "text/plain" }, body: text }, "token_missing"],
      [
        { method: "POST", headers: { ...json, "content-encoding": "gzip" }, body: JSON.stringify({ id_token: text }) },
        "token_missing",
      ],
      [
        { method: "POST", headers: json, body: JSON.stringify({ a: "x".repeat(70_000), id_token: text }) },
        "token_missing",
      ],
      [{ method: "POST", target: `/?id_token=${text}`, headers: form, body: "" }, "token_missing"],
    ] as const) {
      assert.equal((await outcome(init)).reason, reason, JSON.stringify(init).slice(0, 200));
    }
  });

  it("jwt-validation requires all listed tokens", async () => {
    const { sign, outcome } = setUp({
      http: { tokens: [token, { type: "at+jwt", method: "header", name: "x-access" }] },
    });
    const access = sign({}, { kid: "k", typ: "at+jwt" });
    const first = { authorization: `Bearer ${sign()}` };
    assert.equal((await outcome({ headers: first })).reason, "token_missing");
    assert.equal((await outcome({ headers: { ...first, "x-access": sign() } })).reason, "token_type_wrong");
    const { reason, result } = await outcome({ headers: { ...first, "x-access": access } });
    assert.deepEqual([reason, (result?.["tokens"] as unknown[] | undefined)?.length], [undefined, 2]);
  });

  it("jwt-validation tries the key sets in order, and fails closed without any", async () => {
    const second = "https://second.example.test/keys";
    const jws = { allowed_algorithms: ["RS256"], keys: { sources: { additional_jkus: [url, second] } } };
    const both = setUp({ jws }, { [url]: [jwkOf("ES256")], [second]: [jwkOf("RS256")] });
    assert.equal(await both.bearer(both.sign({}, {})), undefined);
    assert.deepEqual(both.asked, [url, second]);
    const one = setUp({ jws }, { [second]: [jwkOf("RS256")] });
    assert.equal(await one.bearer(one.sign({}, {})), undefined);
    const none = setUp({ jws }, {});
    assert.equal(await none.bearer(none.sign()), "token_keys_unavailable");
  });

  it("jwt-validation fetches nothing for an unacceptable token, nor in a rehearsal", async () => {
    const { asked, bearer, claims, action, sign } = setUp();
    await bearer("a.b.c");
    await bearer(makeToken("ES512", claims));
    const exchange = exchangeOf({ headers: { authorization: `Bearer ${sign()}` } });
    assert.equal((await action.rehearse(exchange)).outcome, "skipped");
    assert.deepEqual(asked, []);
    await action.run(exchange);
    assert.equal((await action.rehearse(exchange)).outcome, "done");
  });

  it("K4: jwt-validation shows only the host of a key set in a rehearsal", async () => {
    const reasonOf = async (source: string): Promise<string> => {
      const jws = { allowed_algorithms: ["RS256"], keys: { sources: { additional_jkus: [source] } } };
      const { action, sign } = setUp({ jws });
      const exchange = exchangeOf({ headers: { authorization: `Bearer ${sign()}` } });
      return (await action.rehearse(exchange, { host: "secret.example", path: "secret" })).reason;
    };
    assert.equal(await reasonOf("https://id.example.test/secret?key=secret"), "would fetch keys from id.example.test");
    assert.equal(await reasonOf("https://id.example.test/${vars.path}"), "would fetch keys from id.example.test");
    assert.doesNotMatch(await reasonOf("https://${vars.host}/keys"), /secret/);
  });

  it("jwt-validation resolves interpolated values for each request, and only connects over https", async () => {
    const jws = { allowed_algorithms: ["RS256"], keys: { sources: { additional_jkus: ["${vars.url}"] } } };
    const { action, asked, sign } = setUp({ jws, issuer: { allow_list: [{ value: "${vars.iss}" }] } });
    const exchange = exchangeOf({ headers: { authorization: `Bearer ${sign()}` } });
    assert.equal((await action.run(exchange, { url, iss })).end, undefined);
    assert.equal((await action.run(exchange, { url, iss: "other" })).end?.by, "refusal");
    asked.length = 0;
    for (const bad of ["http://idp.example.test/", "file:///etc/passwd", "", "no URL", "data:application/json,{}"]) {
      assert.equal((await action.run(exchange, { url: bad, iss })).end?.by, "refusal");
    }
    assert.deepEqual(asked, []);
    const broken = await action.run(exchange, {});
    assert.deepEqual(broken.end, { by: "refusal", answer: { error: "policy_interpolation_failed" } });
  });

  it("jwt-validation accepts keys, sources and identification as objects and as lists of one", async () => {
    const keys = [{ sources: [{ additional_jkus: [url] }], identification: [{ token_claims: ["kid"] }] }];
    const { bearer, sign } = setUp({ jws: { allowed_algorithms: ["RS256"], keys } });
    assert.equal(await bearer(sign()), undefined);
  });

  it("jwt-validation rejects configurations that could never match", () => {
    const jws = (change: object) => ({ jws: { ...config.jws, ...change } });
    const sources = (...jkus: string[]) => jws({ keys: { sources: { additional_jkus: jkus } } });
    for (const [change, fault] of [
      [jws({ allowed_algorithms: ["none"] }), /allowed_algorithms/],
      [jws({ allowed_algorithms: ["HS256"] }), /allowed_algorithms/],
      [jws({ allowed_algorithms: [] }), /allowed_algorithms/],
      [{ issuer: undefined }, /^issuer/],
      [{ issuer: { allow_list: [] } }, /^issuer/],
      [{ http: { tokens: [] } }, /^http.tokens/],
      [{ http: { tokens: [{ ...token, method: "query" }] } }, /method/],
      [{ http: { tokens: [{ ...token, type: "jwe" }] } }, /type/],
      [sources("http://idp.example.test/"), /https/],
      [sources("keys"), /https/],
      [sources(url, url), /repeat/],
      [sources(), /additional_jkus/],
      [{ issuer: { allow_list: [{ value: "${vars." }] } }, /^issuer\.allow_list\[0\]\.value/],
    ] as const) {
      assert.match(faultsOf(jwtValidation, { ...config, ...change })[0] ?? "", fault, JSON.stringify(change));
    }
  });
});
