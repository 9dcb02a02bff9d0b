import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isPublicAddress } from "./public-address.ts";

const outside = ["1.1.1.1", "100.63.255.255", "172.32.0.1", "223.255.255.255", "2606:4700::1111", "64:ff9b::101:101"];
const inside = [
  "",
  "localhost",
  "0.0.0.0",
  "10.1.2.3",
  "100.64.0.1",
  "127.0.0.1",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "192.0.0.1",
  "192.0.2.1",
  "192.88.99.1",
  "198.18.0.1",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::ffff:127.0.0.1",
  "::ffff:10.0.0.1",
  "64:ff9b::7f00:1",
  "2002:7f00:1::",
  "fc00::1",
  "fd00:ec2::254",
  "fe80::1",
  "ff02::1",
  "2001::1",
  "2001:db8::1",
  "3fff::1",
];

describe("a public address", () => {
  for (const text of outside) it(`a public address is ${text}`, () => assert.equal(isPublicAddress(text), true));
  for (const text of inside)
    it(`I7: a public address is not "${text}"`, () => assert.equal(isPublicAddress(text), false));
});
