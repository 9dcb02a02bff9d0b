import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { skipWithout } from "../../../test/support/programs.ts";
import { readHostKey } from "./host-key.ts";
import { InvalidKey, parsePublicKeyLine } from "./public-key.ts";

describe("host keys of ssh-keygen", { skip: skipWithout("ssh-keygen") }, () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-host-key-"));
  after(() => rmSync(directory, { recursive: true, force: true }));

  const make = (name: string, ...args: readonly string[]): string => {
    const file = join(directory, name);
    const { status, stderr } = spawnSync("ssh-keygen", ["-q", "-f", file, ...args], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    return file;
  };

  for (const [type, ...more] of [
    ["ed25519", "-N", ""],
    ["ecdsa", "-N", "", "-b", "256", "-m", "PKCS8"],
    ["rsa", "-N", "", "-b", "2048", "-m", "PEM"],
  ] as const) {
    it(`a host key of the type ${type} signs so that its public key verifies`, () => {
      const file = make(type, "-t", type, ...more);
      const key = readHostKey(readFileSync(file, "utf8"));
      const known = parsePublicKeyLine(readFileSync(`${file}.pub`, "utf8"));
      assert.deepEqual(key.blob, known.blob);
      for (const algorithm of key.algorithms) {
        const signature = key.sign(algorithm, Buffer.from("message"));
        assert.ok(known.verifies(algorithm, signature, Buffer.from("message")));
        assert.ok(!known.verifies(algorithm, signature, Buffer.from("another")));
      }
    });
  }

  it("a host key with a passphrase, or in a form that Node cannot read, is rejected with advice", () => {
    const locked = readFileSync(make("locked", "-t", "ed25519", "-N", "secret phrase"), "utf8");
    assert.throws(() => readHostKey(locked), new InvalidKey("must be a private key without a passphrase"));
    const other = readFileSync(make("other", "-t", "rsa", "-b", "2048", "-N", ""), "utf8");
    assert.throws(() => readHostKey(other), /ssh-keygen -p -N '' -m PKCS8/);
    assert.throws(() => readHostKey("no key"), InvalidKey);
  });
});
