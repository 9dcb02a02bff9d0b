import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { hmacScheme, isSame } from "./hmac.ts";

describe("a signature with a shared secret", () => {
  it("I6: a signature with a shared secret is compared whole, in one spelling of its encoding", () => {
    const expected = randomBytes(32);
    for (const encoding of ["hex", "base64"] as const) {
      const text = expected.toString(encoding);
      assert.ok(isSame(text, encoding, expected));
      for (let at = 0; at < expected.length; at += 1) {
        const other = Buffer.from(expected);
        other[at] = (other[at] as number) ^ 1;
        assert.ok(!isSame(other.toString(encoding), encoding, expected), `byte ${at}`);
      }
      for (const odd of [
        "",
        text.slice(0, -4),
        `${text}zz`,
        `${text} `,
        ` ${text}`,
        `${text}\n`,
        `${text}00`,
        `-${text}`,
      ]) {
        assert.ok(!isSame(odd, encoding, expected), `${encoding} ${JSON.stringify(odd)}`);
      }
    }
    assert.ok(isSame(expected.toString("hex").toUpperCase(), "hex", expected));
  });

  it("I6: a signature with a shared secret is found among at most sixteen", () => {
    const scheme = hmacScheme("x-signature", { pairs: { signature: "v1", timestamp: "t" }, over: "{time}.{body}" });
    const body = Buffer.from("{}");
    const right = createHmac("sha256", "secret").update(`1000.{}`).digest("hex");
    const verify = (wrong: number): unknown => {
      const signatures = [...Array<string>(wrong).fill("00".repeat(32)), right].map((one) => `v1=${one}`);
      const headers = { getAll: () => [["t=1000", ...signatures].join(",")] };
      return scheme.verify("secret", { method: "POST", url: "https://a.example/", headers, body }, 1_000_000);
    };
    assert.equal(verify(15), undefined);
    assert.equal(verify(16), "the signature is another");
  });
});
