import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { startCommand } from "../support/command.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { runSharedCommand } from "../support/shared-command.ts";

const day = 24 * 60 * 60 * 1000;

describe("postern import certificates", { timeout: 60_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-import-certificates-"));
  let platform: TestPlatform;
  let ca: Awaited<ReturnType<typeof createAuthority>>;
  before(async () => {
    platform = await startPlatform();
    ca = await createAuthority({ commonName: "Authority", now: Date.now() - 100 * day });
  });
  after(async () => {
    await platform.stop();
    rmSync(directory, { recursive: true });
  });
  const write = (path: string, text: string): string => {
    const file = join(directory, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  };
  const leaf = (names: readonly string[], now = Date.now(), days = 90) =>
    issueLeaf(ca, { names: [...names], now, days });
  const run = (folder: string, ...more: string[]) =>
    runSharedCommand(["import", "certificates", join(directory, folder), "--data", platform.directory, ...more]);
  const stored = async (): Promise<readonly string[]> => {
    const { body } = await platform.api("GET", "/tls_certificates?limit=100");
    return body.tls_certificates.map((one: { subject_alternative_names: { dns_names: string[] } }) =>
      one.subject_alternative_names.dns_names.join(),
    );
  };

  const layouts: Readonly<Record<string, (name: string, cert: string, key: string) => void>> = {
    certbot(name, cert, key) {
      for (const [file, text] of [
        ["cert", cert],
        ["chain", ca.certificatePem],
        ["fullchain", `${cert}${ca.certificatePem}`],
        ["privkey", key],
      ] as const) {
        const target = write(`certbot/archive/${name}/${file}1.pem`, text);
        mkdirSync(join(directory, `certbot/live/${name}`), { recursive: true });
        symlinkSync(target, join(directory, `certbot/live/${name}/${file}.pem`));
      }
      write("certbot/accounts/key.json", "{}");
    },
    "acme.sh"(name, cert, key) {
      write(`acme.sh/${name}_ecc/fullchain.cer`, `${cert}${ca.certificatePem}`);
      write(`acme.sh/${name}_ecc/${name}.cer`, cert);
      write(`acme.sh/${name}_ecc/${name}.key`, key);
      write(`acme.sh/${name}_ecc/ca.cer`, ca.certificatePem);
    },
    caddy(name, cert, key) {
      write(`caddy/certificates/acme-v02/${name}/${name}.crt`, `${cert}${ca.certificatePem}`);
      write(`caddy/certificates/acme-v02/${name}/${name}.key`, key);
      write(`caddy/certificates/acme-v02/${name}/${name}.json`, "{}");
    },
    lego(name, cert, key) {
      write(`lego/certificates/${name}.crt`, `${cert}${ca.certificatePem}`);
      write(`lego/certificates/${name}.issuer.crt`, ca.certificatePem);
      write(`lego/certificates/${name}.key`, key);
    },
  };
  for (const [program, lay] of Object.entries(layouts)) {
    it(`postern import certificates uploads a folder of ${program} once, each certificate with its chain and key`, async () => {
      const names = [`a.${program}.example.com`, `b.${program}.example.com`];
      for (const name of names) {
        const { certificatePem, keyPem } = await leaf([name]);
        lay(name, certificatePem, keyPem);
      }
      const dry = await run(program, "--dry-run");
      assert.match(dry.stdout, new RegExp(`^would upload  a\\.${program}\\.example\\.com  `, "m"));
      assert.equal(
        (await stored()).some((name) => names.includes(name)),
        false,
      );
      const first = await run(program, "--json");
      assert.equal(first.code, 0, first.stderr);
      const { certificates } = JSON.parse(first.stdout) as { certificates: { outcome: string; names: string[] }[] };
      assert.deepEqual(
        certificates
          .filter(({ outcome }) => outcome === "uploaded")
          .flatMap((one) => one.names)
          .sort(),
        names,
      );
      assert.deepEqual((await stored()).filter((name) => names.includes(name)).sort(), names);
      const { body } = await platform.api("GET", "/tls_certificates?limit=100");
      const pem = String(body.tls_certificates[0].certificate_pem);
      assert.equal(pem.match(/BEGIN CERTIFICATE/g)?.length, 2);
      const again = await run(program);
      assert.equal(again.stdout.match(/^present  /gm)?.length, 2, again.stdout);
    });
  }

  it("postern import certificates skips expired certificates, certificates without a key, and older ones with the same names", async () => {
    const expired = await leaf(["expired.example.com"], Date.now() - 91 * day);
    const alone = await leaf(["alone.example.com"]);
    const older = await leaf(["twice.example.com"], Date.now() - 30 * day);
    const newer = await leaf(["twice.example.com"]);
    write("mixed/expired.pem", `${expired.certificatePem}${expired.keyPem}`);
    write("mixed/alone.pem", alone.certificatePem);
    write("mixed/older.pem", `${older.keyPem}${older.certificatePem}`);
    write("mixed/newer.pem", `${newer.keyPem}${newer.certificatePem}`);
    const { code, stdout } = await run("mixed");
    assert.equal(code, 0);
    assert.match(stdout, /^uploaded  twice\.example\.com  cert_\w+  .*newer\.pem$/m);
    assert.match(stdout, /^skipped  a later certificate has the same names  .*older\.pem$/m);
    assert.match(stdout, /^skipped  expired on \d{4}-\d\d-\d\d  .*expired\.pem$/m);
    assert.match(stdout, /^skipped  the folder does not have its private key  .*alone\.pem$/m);
    assert.doesNotMatch(stdout, /PRIVATE KEY/);
  });

  it("postern import certificates refuses a folder that is not there or has no certificate", async () => {
    const gone = await run("none");
    assert.equal(gone.code, 2);
    assert.match(gone.stderr, /cannot read the folder ".*none": ENOENT/);
    write("empty/readme.txt", "nothing");
    const empty = startCommand(["import", "certificates", join(directory, "empty"), "--data", platform.directory]);
    const { code, stderr } = await empty.finished;
    assert.equal(code, 2);
    assert.match(stderr, /has no certificate that a server can use: name the folder/);
  });
});
