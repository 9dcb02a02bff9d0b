import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { describe, it } from "node:test";
import { exchangeOf } from "../../../test/support/exchange.ts";
import { ada, guarded } from "../../../test/support/guarded.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import { signAssertion } from "../jobs/assertion.ts";

const pem = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" });

describe("the signed assertion for a service", () => {
  type Given = ReturnType<typeof guarded>;
  /** Receives a key as the control plane sends it. */
  const withKey = (given: Given): Given => {
    const { clock, logins } = given;
    const usedFrom = formatTimestamp(clock.now() - 1_000);
    const doc = { purpose: "assertion", key: pem, certificate: "", made_at: usedFrom, used_from: usedFrom };
    const object = { kind: "login_key", id: "lgnkey_2", account_id: "ac_1", revision: 1, doc };
    logins.change([{ kind: object.kind, id: object.id, object }]);
    return given;
  };
  const told = async ({ siteNow, loginCookies }: Given): Promise<string> => {
    const exchange = exchangeOf({ loginCookies, headers: { accept: "text/html" } });
    await siteNow()?.findRoute("/", "app.example.com")?.request[0]?.request?.(exchange);
    return exchange.request.headers.get("postern-assertion") ?? "";
  };
  const claimsIn = (token: string): Record<string, unknown> => {
    const [header = "", payload = "", signature = ""] = token.split(".");
    const key = { key: createPublicKey(pem), dsaEncoding: "ieee-p1363" } as const;
    assert.ok(verify("sha256", Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, "base64url")));
    return JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown>;
  };

  it("the signed assertion for a service is signed once a minute, and sent while it is valid", async () => {
    let signed = 0;
    const given = withKey(guarded({ sign: async ({ claims }) => `${JSON.stringify(claims["sub"])} ${(signed += 1)}` }));
    const { clock } = given;
    assert.deepEqual([await told(given), await told(given)], ['"appusr_1" 1', '"appusr_1" 1']);
    clock.pass(60_000);
    assert.equal(await told(given), '"appusr_1" 1', "good for a while, and nobody waits for the next");
    assert.equal(await told(given), '"appusr_1" 2');
    clock.pass(110_000);
    assert.equal(await told(given), '"appusr_1" 3', "too old to be sent");
    assert.equal(signed, 3);
  });

  it("the signed assertion for a service has at most 2 KiB: it contains the groups and the name that fit", async () => {
    const memberships = (length: number, at = 0): string[] =>
      Array.from({ length: 30 }, (_, one) => `acme/${"g".repeat(length)}${one + at}`);
    const of = async (groups: readonly string[], more: object = {}) => {
      const identity = { ...ada, memberships: groups, ...more };
      const token = await told(withKey(guarded({ teams: groups, sign: signAssertion }, { identity })));
      assert.ok(token.length <= 2048, String(token.length));
      return claimsIn(token);
    };
    const few = await of(memberships(1).slice(0, 2));
    assert.deepEqual([few["groups"], few["name"]], [["acme/g0", "acme/g1"], "Ada"]);
    const { iss, aud, exp, iat, email, email_verified } = few;
    assert.deepEqual(
      [iss, aud, Number(exp) - Number(iat), email, email_verified],
      ["https://idp.example.com", "https://app.example.com", 120, "ada@example.com", true],
    );
    assert.deepEqual((await of(memberships(1)))["groups"], memberships(1).slice(0, 16));
    const long = (await of(memberships(200)))["groups"] as string[];
    assert.deepEqual(long, memberships(200).slice(0, long.length));
    assert.ok(long.length >= 3 && long.length < 16, String(long.length));
    const { email: address, name } = await of(memberships(900), {
      email: `${"e".repeat(308)}@example.com`,
      name: "\u{1f512}".repeat(250),
    });
    assert.equal(String(address).length, 320);
    assert.equal(name, "\u{1f512}".repeat(64));
    const provider = await told(
      withKey(
        guarded(
          { teams: memberships(900), sign: signAssertion },
          {
            identity: { ...ada, email: "e".repeat(400), name: "\u{1f512}".repeat(250), memberships: memberships(900) },
            userId: "u".repeat(700),
          },
        ),
      ),
    );
    assert.ok(provider.length <= 2048, String(provider.length));
    assert.deepEqual([claimsIn(provider)["name"], claimsIn(provider)["groups"]], [undefined, undefined]);
  });
});
