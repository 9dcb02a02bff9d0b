import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { oauthApps } from "./oauth-apps.ts";

describe("the file of the server's own apps", () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-apps-"));
  after(() => rmSync(directory, { recursive: true, force: true }));
  const read = (text: string, mode = 0o600) => {
    const file = join(directory, "apps.yml");
    writeFileSync(file, text);
    chmodSync(file, mode);
    return oauthApps.parse(file);
  };

  it("names a client and its location for each provider", () => {
    assert.deepEqual(read('github: { client_id: a, client_secret: b, base_url: "https://fake.example" }'), {
      github: { clientId: "a", clientSecret: "b", baseUrl: "https://fake.example", graphVersion: "" },
    });
  });

  it("the file of the server's own apps is rejected with the reason, and its secrets are not repeated", () => {
    for (const [text, why] of [
      ["nobody: { client_id: a, client_secret: b }", /no provider "nobody"/],
      ["github: { client_id: a }", /set client_id and client_secret .* together/],
      ["github: { client_id: a, client_secret: b, base: c }", /"base"/],
      ["github: { client_id: a, client_secret: b, base_url: c }", /not a URL/],
      ["github: { client_id: 1, client_secret: secret-of-tests }", /visible ASCII/],
      ["facebook: { client_id: a, client_secret: b, graph_version: '21' }", /v21\.0/],
      ["github: secret-of-tests", /map of keys/],
      ["[", /must be a file of OAuth apps/],
    ] as const) {
      assert.throws(
        () => read(text),
        (error: Error) => why.test(error.message) && !error.message.includes("secret-of-tests"),
        text,
      );
    }
    assert.throws(() => read("github: { client_id: a, client_secret: b }", 0o644), /chmod 600/);
  });
});
