import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { base64url, makeToken } from "../../test/support/tokens.ts";
import { maxTokenBytes, readSignedToken, TokenFault } from "./compact.ts";

const head = base64url({ alg: "ES256" });
const body = base64url({ sub: "u1" });
const shaped = (header: string | object, payload: string | object = {}): string =>
  `${base64url(header)}.${base64url(payload)}.AAAA`;

/** Families of invalid tokens. Each is refused without quoting its content. */
const refused: Readonly<Record<string, readonly string[]>> = {
  "the number of parts": [
    "",
    ".",
    "..",
    "...",
    "a",
    "a.b",
    `${head}.${body}`,
    `${head}.${body}.AAAA.`,
    `${head}.${body}.AAAA.AAAA`,
  ],
  "encrypted ones": [`${head}.AAAA.AAAA.AAAA.AAAA`, "....", `${head}....`, `${head}.a.b.c.d.e`],
  "other alphabets": [
    `${head}=.${body}.AAAA`,
    `${head}.${body}=.AAAA`,
    `${head}.${body}.AA==`,
    `${head}.${body}.AA+/`,
    `${head}.${body}. AAAA`,
    `${head}.${body}.AAAA\n`,
    ` ${head}.${body}.AAAA`,
    `${head}.${body}.AA\0A`,
    `${head}.${body}.ÄÄÄÄ`,
    `${head}.${body}.%41AAA`,
  ],
  "a second spelling of the same bytes": [`${head}.${body}.AB`, `${head}.${body}.AAB`, `${head}.${body}.A`],
  "headers that are no JSON object": ["", "null", "[]", '"x"', "1", "{", "{}x", "\u{feff}{}", '{"alg":"ES256",}'].map(
    (one) => shaped(one),
  ),
  "payloads that are no JSON object": ["", "null", "[]", '"x"', "1", "{", "sub=u1", "{'sub':1}"].map((one) =>
    shaped({ alg: "ES256" }, one),
  ),
  "names twice": [
    shaped('{"alg":"none","alg":"ES256"}'),
    shaped('{"alg":"ES256","\\u0061lg":"none"}'),
    shaped({ alg: "ES256" }, '{"iss":"a","iss":"b"}'),
    shaped({ alg: "ES256" }, '{"a":{"b":1,"b":2}}'),
    shaped({ alg: "ES256" }, '{"__proto__":{"iss":"a"}}'),
  ],
  "no UTF-8": [`${Buffer.from([0x7b, 0xff, 0x7d]).toString("base64url")}.${body}.AAAA`],
  depth: [
    shaped({ alg: "ES256" }, `{"a":${"[".repeat(10_000)}${"]".repeat(10_000)}}`.slice(0, 8000)),
    shaped({ alg: "ES256" }, `{"a":${"[".repeat(40)}${"]".repeat(40)}}`),
  ],
  "algorithms that are no text": [
    "{}",
    '{"alg":null}',
    '{"alg":["ES256"]}',
    '{"alg":{"a":1}}',
    '{"alg":256}',
    '{"ALG":"ES256"}',
  ].map((one) => shaped(one)),
  extensions: [
    shaped({ alg: "ES256", crit: ["exp"], exp: 1 }),
    shaped({ alg: "ES256", crit: [] }),
    shaped({ alg: "ES256", crit: null }),
    shaped({ alg: "ES256", crit: ["b64"], b64: false }),
    shaped({ alg: "ES256", b64: false }),
    shaped({ alg: "ES256", b64: true }),
  ],
  "names of keys that are no short text": [1, null, ["a"], { a: 1 }, "x".repeat(1025)].map((kid) =>
    shaped({ alg: "ES256", kid }),
  ),
  size: [`${head}.${body}.${"A".repeat(maxTokenBytes)}`, ".".repeat(1_000_000), "A".repeat(10_000_000)],
};

describe("the form of a token", () => {
  for (const [what, tokens] of Object.entries(refused)) {
    it(`the form of a token is refused for ${what}`, () => {
      for (const token of tokens) {
        assert.throws(
          () => readSignedToken(token),
          (error) => error instanceof TokenFault && !error.message.includes("u1") && error.message.length < 200,
          token.slice(0, 100),
        );
      }
    });
  }

  it("a good token with any changed or missing byte is refused, and causes no other error", () => {
    const token = makeToken("ES256", { iss: "a", sub: "u1" }, { kid: "k" });
    for (let at = 0; at < token.length; at += 1) {
      for (const put of ["", ".", "=", "A", "\0", "é"]) {
        try {
          readSignedToken(token.slice(0, at) + put + token.slice(at + 1));
        } catch (error) {
          assert.ok(error instanceof TokenFault, String(error));
        }
      }
    }
  });

  it("the form of a token is read up to the caller's maximum length", () => {
    const token = makeToken("ES256", { sub: "u1", groups: "x".repeat(maxTokenBytes) });
    assert.throws(() => readSignedToken(token), TokenFault);
    assert.throws(() => readSignedToken(token, token.length - 1), TokenFault);
    assert.equal(readSignedToken(token, token.length).payload["sub"], "u1");
  });

  it("the form of a valid token is returned", () => {
    const token = makeToken("ES256", { sub: "u1" }, { kid: "k", typ: "JWT" });
    const { header, payload, algorithm, keyId, signed, signature } = readSignedToken(token);
    assert.deepEqual(
      [header, payload, algorithm, keyId],
      [{ alg: "ES256", kid: "k", typ: "JWT" }, { sub: "u1" }, "ES256", "k"],
    );
    assert.equal(`${signed}.${signature.toString("base64url")}`, token);
  });
});
