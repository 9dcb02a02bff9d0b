import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createSelfSigned } from "../../src/lib/certificates/x509.ts";
import { runSharedCommand } from "../support/shared-command.ts";
import { freePort } from "../support/connections.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";

describe("postern doctor", { timeout: 60_000 }, () => {
  let platform: TestPlatform;
  let routeId: string;
  before(async () => {
    platform = await startPlatform();
    const edge = (await platform.api("POST", "/edges/https", { hostports: ["app.localhost:443"] })).body;
    const saml = { idp_metadata_url: "https://login.example.com/metadata" };
    const route = { match_type: "path_prefix", match: "/", saml };
    routeId = (await platform.api("POST", `/edges/https/${edge.id}/routes`, route)).body.id;
  });
  after(() => platform.stop());
  const doctor = (...args: string[]) => runSharedCommand(["doctor", "--data", platform.directory, ...args]);

  it("postern doctor finds the login host, its certificate, and SAML addresses that agree with it", async () => {
    const { code, stdout, stderr } = await doctor("--https-port", String(platform.httpsPort));
    const host = `idp.localhost:${platform.httpsPort}`;
    assert.equal(code, 0, stderr + stdout);
    assert.deepEqual(
      stdout.split("\n").map((line) => line.slice(0, 1)),
      ["✓", "✓", "!", "✓", ""],
    );
    assert.match(stdout, /leads to 127\.0\.0\.1/);
    assert.match(stdout, /answers as the login host/);
    assert.match(stdout, /from the server's own CA.*--acme-agree/);
    assert.match(stdout, new RegExp(`✓ route ${routeId}: SAML answers arrive at https://${host}/saml/${routeId}/acs`));
  });

  it("postern doctor warns if providers have another host than the current one, and if the current one is not this server's", async () => {
    const port = String(platform.httpsPort);
    const { code, stdout } = await doctor("--https-port", port, "--idp-host", "sso.localhost", "--json");
    const { findings } = JSON.parse(stdout) as { findings: { outcome: string; about: string; message: string }[] };
    assert.equal(code, 1);
    const [stored] = findings.filter(({ about }) => about === `route ${routeId}`);
    assert.equal(stored?.outcome, "warning");
    assert.match(
      stored.message,
      /sends answers to https:\/\/idp\.localhost:\d+\/saml\/\w+\/acs, .* https:\/\/sso\.localhost/,
    );
    assert.match(findings.find(({ outcome }) => outcome === "wrong")?.message ?? "", /another server answers/);
  });

  it("postern doctor warns if nothing answers, and if browsers do not trust the certificate", async () => {
    const away = await doctor("--https-port", String(await freePort()));
    assert.equal(away.code, 1);
    assert.match(away.stdout, /✗ .*no answer over HTTPS/);
    const pair = await createSelfSigned({ names: ["idp.localhost"], days: 30, now: Date.now() });
    const body = { certificate_pem: pair.certificatePem, private_key_pem: pair.keyPem };
    assert.equal((await platform.api("POST", "/tls_certificates", body)).status, 201);
    const strange = await doctor("--https-port", String(platform.httpsPort));
    assert.equal(strange.code, 1);
    assert.match(strange.stdout, /✗ .*browsers do not trust its certificate/);
  });
});
