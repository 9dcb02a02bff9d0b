import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { Failure } from "../process/exit.ts";
import { readSettings } from "./read-settings.ts";
import { settings } from "../../settings/settings.ts";

describe("settings", () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-settings-"));
  after(() => rmSync(directory, { recursive: true }));
  const file = (name: string, content: string): string => {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  };
  const read = async (args: string[], env: Record<string, string> = {}) =>
    (await readSettings(settings, { args, env, command: "serve", known: settings })).values;
  const refused = async (args: string[], env: Record<string, string> = {}): Promise<string> => {
    try {
      await read(args, env);
    } catch (error) {
      assert(error instanceof Failure);
      assert.equal(error.exitCode, 2);
      return error.message;
    }
    throw new Error("was not refused");
  };

  it("settings come from flags, then the environment, then the file, then the default", async () => {
    const config = file("order.yml", "domain: file.example\nmetadata: from file\n");
    const env = { POSTERN_DOMAIN: "env.example", POSTERN_CONFIG: config };
    assert.equal((await read(["--domain", "flag.example"], env)).domain, "flag.example");
    assert.equal((await read([], env)).domain, "env.example");
    assert.equal((await read([], env)).metadata, "from file");
    assert.equal((await read(["--config", config])).domain, "file.example");
    assert.equal((await read([])).domain, "localhost");
  });

  it("settings with secrets can be read from files, without the line break at the end", async () => {
    const secret = file("secret", "from-a-file\n");
    assert.equal((await read(["--token-file", secret])).authtoken, "from-a-file");
    assert.equal((await read([], { POSTERN_AUTHTOKEN_FILE: secret })).authtoken, "from-a-file");
    const config = file("secrets.yml", `authtoken_file: ${secret}\n`);
    assert.equal((await read(["--config", config])).authtoken, "from-a-file");
  });

  it("settings that can be repeated are lists in the file and comma-separated in the environment", async () => {
    const config = file("labels.yml", "label:\n  - app=web\n  - dc=eu\n");
    assert.deepEqual((await read(["--label", "a=b", "--label", "c=d"])).label, ["a=b", "c=d"]);
    assert.deepEqual((await read([], { POSTERN_LABEL: "a=b,c=d" })).label, ["a=b", "c=d"]);
    assert.deepEqual((await read(["--config", config])).label, ["app=web", "dc=eu"]);
  });

  for (const [given, host, port] of [
    ["4700", undefined, 4700],
    [":443", undefined, 443],
    ["127.0.0.1:0", "127.0.0.1", 0],
    ["[::1]:8443", "::1", 8443],
    ["localhost:8443", "localhost", 8443],
  ] as const) {
    it(`settings listen on ${given}`, async () =>
      assert.deepEqual((await read(["--api-listen", given])).apiListen, { host, port }));
  }

  for (const [what, args, message] of [
    ["a value missing", ["--domain"], /--domain needs a value/],
    ["a flag in the value's place", ["--domain", "--json"], /--domain needs a value/],
    ["an unknown flag", ["--domian", "x"], /`postern serve` has no option --domian: did you mean --domain\?/],
    ["a flag given twice", ["--domain", "a", "--domain", "b"], /--domain may be given only once/],
    ["a value that is not one of those listed", ["--log-level", "loud"], /--log-level must be one of debug.*"loud"/],
    ["a port out of range", ["--api-listen", "127.0.0.1:70000"], /--api-listen must be a port.*"127.0.0.1:70000"/],
    ["an empty value", ["--url", ""], /--url must not be empty/],
    ["a setting without the one that it needs", ["--aws-access-key-id", "AKIAEXAMPLE"], /must be given together$/],
    [
      "a network with bits beyond its mask",
      ["--trusted-proxies", "10.0.0.1/8"],
      /--trusted-proxies must .*"10.0.0.1\/8"/,
    ],
    [
      "a URL without TLS",
      ["--acme-directory", "http://ca"],
      /--acme-directory must be an https:\/\/ URL: "http:\/\/ca"/,
    ],
    [
      "something other than an e-mail address",
      ["--acme-email", "ops"],
      /--acme-email must be one e-mail address: "ops"/,
    ],
    [
      "a file of certificates that is not there",
      ["--acme-ca", "/none.pem"],
      /--acme-ca must be a file with PEM certificates .*ENOENT/,
    ],
    ["a file that is not there", ["--config", "/nonexistent.yml"], /--config: cannot read "\/nonexistent.yml"/],
  ] as const) {
    it(`settings reject ${what} in one sentence`, async () => assert.match(await refused([...args]), message));
  }

  for (const [what, content, message] of [
    ["an unknown key", "domian: x\n", /unknown setting "domian": did you mean "domain"\?/],
    ["broken YAML", "domain: [\n", /is not valid YAML/],
    ["a key twice", "domain: a\ndomain: b\n", /is not valid YAML/],
    ["a list where one value belongs", "domain: [a, b]\n", /domain must be one value/],
    ["a list where settings belong", "- a\n", /must hold settings/],
  ] as const) {
    it(`settings reject a file with ${what}`, async () =>
      assert.match(await refused(["--config", file("bad.yml", content)]), message));
  }

  it("settings name the variable with the bad value", async () => {
    assert.match(await refused([], { POSTERN_API_LISTEN: "nowhere" }), /^POSTERN_API_LISTEN must be PORT.*"nowhere"$/);
  });

  it("settings never repeat a secret in a message", async () => {
    const message = await refused(["--token", "hunter2", "--token", "hunter2"]);
    assert.doesNotMatch(message, /hunter2/);
  });
});
