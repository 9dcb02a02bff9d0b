import assert from "node:assert/strict";
import { BlockList, isIPv4, isIPv6 } from "node:net";
import { test } from "node:test";
import { seededRandom } from "../../test/support/random.ts";
import { cidrIssue, formatAddress, normaliseAddress, parseCidr, readAddress } from "./address.ts";

test("addresses are written in their canonical form", () => {
  for (const [text, canonical] of [
    ["192.0.2.1", "192.0.2.1"],
    ["255.255.255.255", "255.255.255.255"],
    ["0.0.0.0", "0.0.0.0"],
    ["::", "::"],
    ["::1", "::1"],
    ["1::", "1::"],
    ["2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["0:0:0:0:0:0:0:0", "::"],
    ["64:ff9b::192.0.2.33", "64:ff9b::c000:221"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::FFFF:c000:0201", "192.0.2.1"],
    ["0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1"],
    ["::192.0.2.1", "::c000:201"],
    ["fe80::1%eth0", "fe80::1"],
  ] as const) {
    assert.equal(normaliseAddress(text), canonical, text);
  }
});

test("R4: text that is not exactly an address is rejected", () => {
  for (const text of [
    "",
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.256",
    "01.2.3.4",
    "1.2.3.4 ",
    " 1.2.3.4",
    "1..2.3",
    "0x1.2.3.4",
    "1.2.3.4:80",
    ":",
    ":::",
    "1:2",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1::2::3",
    "1:2:3:4:5:6:7::8",
    "12345::",
    "g::",
    ":1::",
    "1:2:3:4:5:6:7:",
    "[::1]",
    "::1.2.3",
    "1:2:3:4:5:6:7:1.2.3.4",
    "::1.2.3.4:5",
    "fe80::1%eth0",
  ]) {
    assert.equal(readAddress(text, new Uint32Array(4)), 0, text);
  }
});

test("parsing agrees with Node's parser on random and damaged addresses", () => {
  const random = seededRandom(7);
  const words = new Uint32Array(4);
  const alphabet = "0123456789abcdef::::....f";
  for (let round = 0; round < 20_000; round += 1) {
    let text = "";
    if (round % 2 === 0) {
      text = Array.from({ length: 8 }, () => (random() < 0.4 ? "0" : Math.floor(random() * 65536).toString(16))).join(
        ":",
      );
      if (random() < 0.5) text = text.replace(/(?:^|:)(?:0(?::|$))+/, "::");
    } else {
      for (let length = 2 + Math.floor(random() * 12); length > 0; length -= 1) {
        text += alphabet[Math.floor(random() * alphabet.length)];
      }
    }
    assert.equal(readAddress(text, words) !== 0, isIPv4(text) || isIPv6(text), text);
  }
});

test("the canonical form parses to the same address", () => {
  const random = seededRandom(11);
  for (let round = 0; round < 5000; round += 1) {
    const words = Uint32Array.from({ length: 4 }, () => (random() < 0.3 ? 0 : Math.floor(random() * 2 ** 32)));
    words[0] = (words[0] as number) | 1;
    const back = new Uint32Array(4);
    assert.equal(readAddress(formatAddress(6, words), back), 6);
    assert.deepEqual(back, words);
  }
});

test("networks have their first and last address, and IPv4-mapped ones are IPv4", () => {
  assert.deepEqual(parseCidr("192.0.2.0/24"), {
    family: 4,
    prefix: 24,
    first: [0xc0000200],
    last: [0xc00002ff],
    text: "192.0.2.0/24",
  });
  assert.deepEqual(parseCidr("0.0.0.0/0")?.last, [0xffffffff]);
  assert.deepEqual(parseCidr("2001:DB8::/33")?.last, [0x20010db8, 0x7fffffff, 0xffffffff, 0xffffffff]);
  assert.equal(parseCidr("2001:DB8::/33")?.text, "2001:db8::/33");
  assert.equal(parseCidr("::ffff:192.0.2.0/120")?.text, "192.0.2.0/24");
  assert.equal(parseCidr("::/0")?.family, 6);
});

test("R4: a network must be written with its lowest address and a mask in range", () => {
  assert.equal(cidrIssue("10.0.0.0/8"), undefined);
  assert.match(cidrIssue("10.0.0.1/8") ?? "", /lowest address of its network: "10\.0\.0\.0\/8"/);
  assert.match(cidrIssue("2001:db8::1/64") ?? "", /"2001:db8::\/64"/);
  assert.match(cidrIssue("10.0.0.0/33") ?? "", /mask of 0 to 32/);
  assert.match(cidrIssue("::/129") ?? "", /mask of 0 to 128/);
  for (const text of [
    "10.0.0.0/",
    "10.0.0.0/08",
    "10.0.0.0/-1",
    "10.0.0.0/8/8",
    "10.0.0/8",
    "fe80::%1/64",
    "::ffff:0.0.0.0/95",
    "/8",
  ]) {
    assert.notEqual(cidrIssue(text), undefined, text);
    assert.equal(parseCidr(text), undefined, text);
  }
});

test("R4: a single address is a network of one address", () => {
  for (const [text, network] of [
    ["192.0.2.7", "192.0.2.7/32"],
    ["2001:DB8::7", "2001:db8::7/128"],
    ["::ffff:192.0.2.7", "192.0.2.7/32"],
  ] as const) {
    assert.equal(cidrIssue(text), undefined);
    assert.deepEqual(parseCidr(text), parseCidr(network));
    assert.equal(parseCidr(text)?.text, network);
  }
  for (const text of ["", "192.0.2", "192.0.2.007", "fe80::1%eth0", "[::1]", "192.0.2.7:80", "a.example"]) {
    assert.match(cidrIssue(text) ?? "", /be an address or a network/, text);
  }
});

test("network bounds agree with Node's block list", () => {
  const random = seededRandom(3);
  for (let round = 0; round < 300; round += 1) {
    const prefix = Math.floor(random() * 33);
    const base = prefix === 0 ? 0 : (Math.floor(random() * 2 ** 32) & (0xffffffff << (32 - prefix))) >>> 0;
    const network = parseCidr(`${formatAddress(4, [base])}/${prefix}`);
    assert.ok(network);
    const list = new BlockList();
    list.addSubnet(formatAddress(4, [base]), prefix, "ipv4");
    for (const probe of [network.first[0] as number, network.last[0] as number]) {
      assert.equal(list.check(formatAddress(4, [probe])), true);
    }
    if ((network.first[0] as number) > 0)
      assert.equal(list.check(formatAddress(4, [(network.first[0] as number) - 1])), false);
    if ((network.last[0] as number) < 0xffffffff)
      assert.equal(list.check(formatAddress(4, [(network.last[0] as number) + 1])), false);
  }
});
