import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeSecurityKey, securityKeyTypes } from "../../../test/support/security-key.ts";
import { parsePublicKeyLine } from "./public-key.ts";

for (const type of securityKeyTypes) {
  describe(`a security key of the type ${type}`, () => {
    const device = makeSecurityKey(type);
    const key = parsePublicKeyLine(device.line);
    const bytes = Buffer.from("the login");

    it(`H1: a signature of ${type} is valid only with the presence of the user`, () => {
      assert.ok(key.verifies(type, device.sign(bytes), bytes));
      assert.ok(key.verifies(type, device.sign(bytes, 5), bytes));
      for (const flags of [0, 4, 0x80]) assert.ok(!key.verifies(type, device.sign(bytes, flags), bytes));
    });

    it(`H1: a signature of ${type} covers the flags, the counter, the application and the login`, () => {
      const valid = device.sign(bytes);
      assert.ok(!key.verifies(type, device.sign(bytes, 1, "ssh:other"), bytes));
      assert.ok(!key.verifies(type, valid, Buffer.from("another login")));
      for (let back = 1; back <= 5; back += 1) {
        const changed = Buffer.from(valid);
        changed[changed.length - back] = (changed[changed.length - back] as number) ^ 2;
        assert.ok(!key.verifies(type, changed, bytes));
      }
      const absent = Buffer.from(device.sign(bytes, 0));
      absent[absent.length - 5] = 1;
      assert.ok(!key.verifies(type, absent, bytes));
      assert.ok(!key.verifies(type, Buffer.concat([valid, Buffer.of(0)]), bytes));
      assert.ok(!key.verifies(type, valid.subarray(0, -1), bytes));
    });

    it(`H1: a signature of ${type} is not valid under the name of another type`, () => {
      assert.ok(!key.verifies(type.slice(3).replace("@openssh.com", ""), device.sign(bytes), bytes));
      assert.ok(!parsePublicKeyLine(makeSecurityKey(type).line).verifies(type, device.sign(bytes), bytes));
    });
  });
}
