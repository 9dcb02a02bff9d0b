import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../test/support/random.ts";
import type { Random } from "../../test/support/random.ts";
import { countMember, JsonEnd, JsonReceiver, readMember, objectMember, textMember } from "./json-message.ts";

describe("the end of a JSON object", () => {
  const text = ' \n{"a":"}{\\"}","b":{"c":[{"d":"\\\\"}]},"é":"\\u007d"}\n{"next":1}';
  const bytes = Buffer.from(text);
  const end = bytes.indexOf("\n{") === 1 ? bytes.lastIndexOf("\n{") : -1;

  it("the end of a JSON object is found for every split of the bytes", () => {
    for (let cut = 0; cut <= end; cut += 1) {
      const scan = new JsonEnd();
      const first = scan.find(bytes.subarray(0, cut));
      const found = first === -1 ? cut + scan.find(bytes.subarray(cut)) : first;
      assert.equal(found, end, `cut at ${cut}`);
    }
  });

  it("the end of a JSON object is found in random objects", () => {
    const random = seededRandom(11);
    for (let round = 0; round < 500; round += 1) {
      const one = Buffer.from(JSON.stringify({ x: randomValue(random, 4) }));
      const scan = new JsonEnd();
      assert.equal(scan.find(Buffer.concat([one, Buffer.from('}{]\\"')])), one.length);
    }
  });

  for (const wrong of ["[]", '"text"', "1", "}", "\u0000\u007f"]) {
    it(`the end of a JSON object is not searched in ${JSON.stringify(wrong)}`, () => {
      assert.throws(() => new JsonEnd().find(Buffer.from(wrong)), { reason: "agent_request_invalid" });
    });
  }
});

describe("a JSON message", () => {
  const receive = (maxBytes: number, ...parts: readonly string[]): { consumed: number; told: unknown[] } => {
    const seen = { consumed: 0, told: [] as unknown[] };
    const stream = { consumed: (count: number) => void (seen.consumed += count) };
    const receiver = new JsonReceiver(stream as never, maxBytes, (error, message) => seen.told.push(error ?? message));
    for (const part of parts) receiver.data(Buffer.from(part));
    receiver.ended();
    receiver.closed(undefined);
    return seen;
  };

  it("a JSON message is reported once, even if more bytes follow", () => {
    const { told, consumed } = receive(100, '{"a"', ":1}", '{"b":2}');
    assert.deepEqual(told, [{ a: 1 }]);
    assert.equal(consumed, 7);
  });

  it("a JSON message is rejected if it is too large, ends early or is not JSON", () => {
    for (const parts of [['{"a":"xxxxxx', 'xxxx"}'], ['{"a":'], ["{a:1}"], [""]]) {
      const { told } = receive(16, ...parts);
      assert.equal((told[0] as { reason?: string }).reason, "agent_request_invalid", parts.join(""));
      assert.equal(told.length, 1);
    }
  });

  it("a JSON message returns members by name in any case, preferring the exact name", () => {
    assert.equal(readMember({ authtoken: 1, AuthToken: 2 }, "AuthToken"), 2);
    assert.equal(readMember({ Authtoken: 1 }, "AuthToken"), 1);
    assert.equal(readMember({}, "toString"), undefined);
    assert.equal(readMember(JSON.parse('{"__proto__":{"x":1}}') as never, "x"), undefined);
  });

  it("D9: a JSON message lists its members once, however many of them are read", () => {
    let lists = 0;
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`Member${index}`, index]));
    const message = new Proxy(many, {
      ownKeys(target) {
        lists += 1;
        return Reflect.ownKeys(target);
      },
    });
    for (let index = 0; index < 1_000; index += 1) assert.equal(readMember(message, `member${index}`), index);
    assert.equal(lists, 1);
  });

  it("a JSON message treats absent and null members as empty, as Go does, and rejects other types", () => {
    assert.equal(textMember({ a: null }, "A", 10), "");
    assert.deepEqual(objectMember({}, "A"), {});
    assert.equal(countMember({ a: null }, "A"), 0);
    for (const value of [5, {}, [], true])
      assert.throws(() => textMember({ a: value }, "a", 10), /"a" is not a string/);
    for (const value of [5, [], "x"]) assert.throws(() => objectMember({ a: value }, "a"), /"a" is not an object/);
    for (const value of [-1, "5", {}, Number.NaN]) assert.throws(() => countMember({ a: value }, "a"), /not a number/);
  });

  it("a JSON message limits texts by bytes, not characters", () => {
    assert.equal(textMember({ a: "ééééé" }, "a", 10), "ééééé");
    assert.throws(() => textMember({ a: "ééééé" }, "a", 9), /longer than 9 bytes/);
  });
});

function randomValue(random: Random, depth: number): unknown {
  const kind = random.below(depth > 0 ? 6 : 4);
  if (kind === 0) return random() * 1e6;
  if (kind === 1) return null;
  if (kind < 4)
    return Array.from({ length: random.below(8) }, () => random.pick(['"', "\\", "{", "}", "é", "\n", "a"])).join("");
  if (kind === 4) return Array.from({ length: random.below(4) }, () => randomValue(random, depth - 1));
  return Object.fromEntries(
    Array.from({ length: random.below(4) }, (_, at) => [`k"${at}}`, randomValue(random, depth - 1)]),
  );
}
