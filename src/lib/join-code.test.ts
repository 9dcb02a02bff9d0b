import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { it } from "node:test";
import { joinSecretBytes, parseJoinCode, renderJoinCode } from "./join-code.ts";

const secret = randomBytes(joinSecretBytes);
const authority = randomBytes(32);

for (const host of ["t.example.com", "192.0.2.1", "2001:db8::1", "a".repeat(63)]) {
  for (const print of [authority, undefined]) {
    it(`a join code preserves ${host} ${print ? "with" : "without"} a fingerprint`, () => {
      const code = renderJoinCode({ host, port: 4443, authority: print, secret });
      assert.match(code, /^pj1_[\w-]+$/);
      assert.deepEqual(parseJoinCode(code), { host, port: 4443, authority: print, secret });
    });
  }
}

it("G14: a join code with any changed, missing or added character is rejected, and errors do not repeat it", () => {
  const code = renderJoinCode({ host: "t.example.com", port: 4443, authority, secret });
  const other = (at: number): string => (code[at] === "A" ? "B" : "A");
  const wrong = [
    "",
    "pj1_",
    "pj2_AAAA",
    `${code}A`,
    `${code}=`,
    code.slice(0, -1),
    `${code} x`,
    `pj1_${"A".repeat(5_000)}`,
    ...Array.from(code, (_, at) => `${code.slice(0, at)}${other(at)}${code.slice(at + 1)}`),
  ];
  for (const text of wrong) {
    assert.throws(
      () => parseJoinCode(text),
      (error: Error) => !error.message.includes(code.slice(20, 40)),
      text,
    );
  }
});
