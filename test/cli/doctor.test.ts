import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createSelfSigned } from "../../src/lib/certificates/x509.ts";
import { startBind } from "../support/bind.ts";
import { makeSecurityKey, securityKeyTypes } from "../support/security-key.ts";
import { startOtlpReceiver } from "../support/otlp-receiver.ts";
import { skipWithout } from "../support/programs.ts";
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

  it("postern doctor tells whether the OpenTelemetry collector accepts what the server would send", async () => {
    const collector = await startOtlpReceiver();
    try {
      const port = ["--https-port", String(platform.httpsPort)];
      const accepted = await doctor(...port, "--otlp-endpoint", collector.url);
      assert.equal(accepted.code, 0, accepted.stdout);
      assert.equal(accepted.stdout.match(/✓ OpenTelemetry \w+ at localhost:\d+: the collector accepts it/g)?.length, 3);
      collector.intercept = (_request, response) => (response.writeHead(401).end(), true);
      const refused = await doctor(...port, "--otlp-endpoint", collector.url, "--otlp-headers", "api-key=wrong-key");
      assert.equal(refused.code, 1);
      assert.match(refused.stdout, /✗ OpenTelemetry traces at .*: the collector answered 401: check --otlp-headers/);
      assert.doesNotMatch(refused.stdout, /wrong-key/);
    } finally {
      await collector.stop();
    }
    const away = await doctor("--https-port", String(platform.httpsPort), "--otlp-endpoint", collector.url);
    assert.match(
      away.stdout,
      /✗ OpenTelemetry logs at .*: cannot reach the collector \(.*ECONNREFUSED.*--otlp-endpoint/,
    );
  });

  it("postern doctor finds an SSH listener that is taken, missing or has another key, and a server without SSH keys", async () => {
    const server = await startPlatform({ sshListen: { host: "127.0.0.1", port: 0 } }, 1);
    const port = ["--https-port", String(server.httpsPort)];
    const ssh = (listen: number, ...args: string[]) =>
      runSharedCommand(["doctor", "--data", server.directory, ...port, "--ssh-listen", `127.0.0.1:${listen}`, ...args]);
    const folder = mkdtempSync(join(tmpdir(), "postern-doctor-"));
    const file = join(folder, "key.pem");
    const stranger = createServer((socket) => socket.end("220 mail.example.com\r\n")).listen(0, "127.0.0.1");
    await once(stranger, "listening");
    try {
      const own = server.sshPort as number;
      const found = await ssh(own);
      assert.match(found.stdout, /✓ SSH listener at port \d+: answers with the host key SHA256:\S{43}\n/);
      assert.match(found.stdout, /! SSH keys: the account has no public key, .*POST \/ssh_credentials/);
      await server.api("POST", "/ssh_credentials", { public_key: makeSecurityKey(securityKeyTypes[0]).line });
      assert.match((await ssh(own)).stdout, /✓ SSH keys: registered/);

      writeFileSync(file, generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }));
      assert.match(
        (await ssh(own, "--ssh-host-key", file)).stdout,
        /! SSH .*the file has SHA256:\S+ restart the server/,
      );
      writeFileSync(file, "no key");
      assert.match((await ssh(own, "--ssh-host-key", file)).stdout, /✗ SSH .*key\.pem": must be a private key/);
      const missing = await ssh(own, "--ssh-host-key", join(folder, "missing.pem"));
      assert.match(missing.stdout, /✗ SSH .*missing\.pem": ENOENT/);
      assert.equal(missing.code, 1);

      const taken = await ssh((stranger.address() as AddressInfo).port);
      assert.match(taken.stdout, /✗ SSH .*a program without SSH uses the port: choose another one with --ssh-listen/);
      const closed = await ssh(await freePort());
      assert.match(closed.stdout, /✗ SSH .*no answer \(.*ECONNREFUSED.*\): start the server with --ssh-listen/);
    } finally {
      stranger.close();
      rmSync(folder, { recursive: true });
      await server.stop();
    }
  });

  it("a changed SSH host key is a problem of the server until the next start", async () => {
    const data = mkdtempSync(join(tmpdir(), "postern-host-key-"));
    const file = join(data, "key.pem");
    const makeKey = (): void =>
      writeFileSync(file, generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }));
    const problems = async (): Promise<string> => {
      const server = await startPlatform({ data, sshListen: { host: "127.0.0.1", port: 0 }, sshHostKey: file }, 1);
      const { text } = await server.api("GET", "/problems");
      await server.stop();
      return text;
    };
    try {
      makeKey();
      assert.doesNotMatch(await problems(), /host key/);
      makeKey();
      assert.match(await problems(), /the SSH host key has changed from SHA256:\S+ to SHA256:\S+, so clients refuse/);
      assert.doesNotMatch(await problems(), /host key/);
    } finally {
      rmSync(data, { recursive: true });
    }
  });

  it(
    "postern doctor sets a test record at the DNS provider and removes it, or says why it cannot",
    { skip: skipWithout("named") },
    async () => {
      const bind = await startBind({ zones: { "t.example.test": [] } });
      try {
        const settings = [
          "--https-port",
          String(platform.httpsPort),
          "--idp-host",
          "idp.localhost",
          "--domain",
          "t.example.test",
        ];
        const provider = [
          "--acme-dns-provider",
          "rfc2136",
          "--acme-dns-server",
          bind.address,
          "--acme-dns-key",
          bind.key.name,
        ];
        const at = ["--acme-dns-resolver", bind.address];
        const good = await doctor(...settings, ...provider, ...at, "--acme-dns-secret", bind.key.secret);
        assert.match(
          good.stdout,
          /✓ DNS provider rfc2136: sets records at _acme-challenge\.t\.example\.test, in the zone t\./,
        );
        assert.match(good.stdout, /✓ DNS provider rfc2136: 127\.0\.0\.1:\d+ had the test record after [\d.]+ s/);
        assert.match(good.stdout, /✓ DNS provider rfc2136: removed the test record/);
        assert.match(bind.log(), /deleting an RR at '?_acme-challenge\.t\.example\.test'? TXT/);
        const secret = Buffer.alloc(32, 9).toString("base64");
        const bad = await doctor(...settings, ...provider, ...at, "--acme-dns-secret", secret);
        assert.equal(bad.code, 1);
        assert.match(bad.stdout, /✗ DNS provider rfc2136: .*BADSIG: the secret of the key is wrong/);
        assert.ok(!bad.stdout.includes(secret) && !bad.stderr.includes(secret));
        const incomplete = await doctor(...settings, "--acme-dns-provider", "cloudflare");
        assert.match(incomplete.stdout, /✗ DNS provider cloudflare: .*needs --acme-dns-secret/);
        const pointless = await doctor(...settings, "--acme-dns-key", "name");
        assert.match(pointless.stderr, /--acme-dns-key and --acme-dns-provider must be given together/);
      } finally {
        await bind.stop();
      }
    },
  );

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
