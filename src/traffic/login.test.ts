import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../test/support/random.ts";
import { HeaderList } from "./header-list.ts";
import { cutLoginCookies, dropLoginCookies, isLoginCookie } from "./login.ts";

const session = "__Host-service.session.abcdefgh";
const flow = "__Host-nonce.abcdefgh.a-B_c1";
const others = ["a", "session.abcdefgh", "__Host-", "__Host-x", "__Secure-service.session.abcdefgh", `x${session}`];
const nearly = [
  `${session}x`,
  "__Host-service.session.abcdefg",
  "__Host-ser_vice.session.abcdefgh",
  "__host-session.abcdefgh",
];

/** A direct implementation of RFC 6265 §5.4, pair by pair. */
function cutSlowly(lines: readonly string[]): { readonly taken: readonly string[]; readonly left: readonly string[] } {
  const taken: string[] = [];
  const left: string[] = [];
  for (const pair of lines.flatMap((line) => line.split(";")).map((piece) => piece.trim())) {
    const [name = "", ...value] = pair.split("=");
    if (isLoginCookie(name.trim())) taken.push(name.trim(), value.join("=").trim());
    else if (pair !== "") left.push(pair);
  }
  return { taken, left };
}

function pairsOf(headers: HeaderList): readonly string[] {
  const pieces = headers.getAll("cookie").flatMap((line) => line.split(";"));
  return pieces.map((piece) => piece.trim()).filter((piece) => piece !== "");
}

describe("I2: login cookies", () => {
  it("I2: login cookies have one of two forms, and no other cookie counts as one", () => {
    for (const name of [session, flow, "__Host-session.00000000", "__Host-a.b.session.abcdefgh"])
      assert.ok(isLoginCookie(name), name);
    for (const name of [...others, ...nearly]) assert.ok(!isLoginCookie(name), name);
  });

  it("I2: login cookies are removed from a request however its Cookie fields are written", () => {
    const random = seededRandom(10);
    const names = [session, flow, ...others, ...nearly];
    const gaps = ["", " ", "  ", "\t", "\u00a0"];
    const values = ["", "=", "=v", "=p1x", " = v", "=a=b", `=${session}`, '="q"'];
    for (let round = 0; round < 500; round += 1) {
      const lines = Array.from({ length: random.below(3) + 1 }, () =>
        Array.from({ length: random.below(5) }, () => {
          const [before, name, value, after] = [gaps, names, values, gaps].map((list) => random.pick(list));
          return `${before}${name}${value}${after}`;
        }).join(random.pick([";", "; ", ";;", " ; "])),
      );
      const headers = new HeaderList(lines.map((line) => ["cookie", line] as const));
      const { taken, left } = cutSlowly(lines);
      assert.deepEqual(cutLoginCookies(headers), taken, JSON.stringify(lines));
      assert.deepEqual(pairsOf(headers), left, JSON.stringify(lines));
    }
  });

  it("I2: services cannot set login cookies, but can set other cookies", () => {
    const kept = [...others, ...nearly].map((name) => `${name}=1; Path=/`);
    const headers = new HeaderList([...kept, `${session}=1`, ` ${flow} =2; Path=/`].map((one) => ["set-cookie", one]));
    dropLoginCookies(headers);
    assert.deepEqual(headers.getAll("set-cookie"), kept);
  });

  it("I2: services cannot set login cookies through cookies without a name", () => {
    for (const planted of [
      `=${session}=1; Path=/; Secure`,
      ` = ${session} = 1`,
      `=${session}`,
      session,
      `${session}; Path=/`,
      `\t=\t${flow}=1`,
    ]) {
      const headers = new HeaderList([["set-cookie", planted]]);
      dropLoginCookies(headers);
      assert.deepEqual(headers.getAll("set-cookie"), [], planted);
    }
    const others = [`own=${session}=1`, `=own=${session}`, "=", "", `own=1; ${session}=1`].map(
      (one) => ["set-cookie", one] as const,
    );
    const headers = new HeaderList(others);
    dropLoginCookies(headers);
    assert.equal(headers.getAll("set-cookie").length, others.length);
  });
});
