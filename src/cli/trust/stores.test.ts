import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { changeStores, commandsOf } from "./install.ts";
import { trustStores } from "./stores.ts";
import type { TrustStore } from "./stores.ts";

const trusted = { file: "/srv/ca.pem", id: "postern-1a2b3c4d", serialNumber: "0F", fingerprint: "AB" };
const systemOf = (platform: NodeJS.Platform, folder = "") => ({
  platform,
  home: "/nowhere",
  hasProgram: () => false,
  hasFolder: (path: string) => path === folder,
});
const lines = (stores: readonly TrustStore[]): string[] =>
  stores.flatMap((store) => commandsOf(store, false).map((words) => words.join(" ")));

describe("stores of trusted CAs", () => {
  it("stores of trusted CAs on macOS and Windows belong to the user", () => {
    assert.deepEqual(lines(trustStores(trusted, true, systemOf("darwin"))), [
      "security add-trusted-cert -r trustRoot -k /nowhere/Library/Keychains/login.keychain-db /srv/ca.pem",
    ]);
    assert.deepEqual(lines(trustStores(trusted, true, systemOf("win32"))), [
      "certutil -addstore -user Root /srv/ca.pem",
    ]);
    assert.deepEqual(lines(trustStores(trusted, false, systemOf("win32"))), ["certutil -delstore -user Root 0F"]);
  });

  for (const [name, folder, file, update] of [
    ["Debian", "/usr/local/share/ca-certificates", "postern-1a2b3c4d.crt", ["update-ca-certificates", "--fresh"]],
    ["Fedora", "/etc/pki/ca-trust/source/anchors", "postern-1a2b3c4d.pem", ["update-ca-trust"]],
  ] as const) {
    it(`stores of trusted CAs on ${name} are the system's folder and the browsers' databases`, () => {
      const linux = systemOf("linux", folder);
      const [install, updated, ...browsers] = lines(trustStores(trusted, true, linux));
      assert.deepEqual([install, updated], [`sudo install -m 644 /srv/ca.pem ${folder}/${file}`, `sudo ${update[0]}`]);
      assert.match(browsers.at(-1) ?? "", /^certutil -A -d sql:\/nowhere\/\.pki\/nssdb /);
      assert.deepEqual(lines(trustStores(trusted, false, linux)), [
        `sudo rm -f ${folder}/${file}`,
        `sudo ${update.join(" ")}`,
      ]);
    });
  }

  it("stores of trusted CAs that need root are changed directly by root and through sudo by other users", () => {
    const store = { name: "the system", commands: [["update-ca-trust"]] as const, needsRoot: true };
    assert.deepEqual(commandsOf(store, false), [["sudo", "update-ca-trust"]]);
    assert.deepEqual(commandsOf(store, true), [["update-ca-trust"]]);
  });

  it("stores of trusted CAs without their program are skipped, and one failure does not affect the next store", () => {
    const run = ([program]: readonly [string, ...string[]]): string | undefined =>
      program === "fails" ? "fails exited with 1" : undefined;
    const outcomes = changeStores(
      [
        { name: "a", commands: [["fails"], ["never"]], needsRoot: false },
        { name: "b", commands: [["works"]], needsRoot: false },
        { name: "c", commands: [["works"]], needsRoot: false, missing: "certutil" },
      ],
      true,
      run,
    );
    assert.deepEqual(
      outcomes.map(({ outcome }) => outcome),
      ["failed", "done", "skipped"],
    );
  });
});
