import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { connect, createServer } from "node:tls";
import { createAuthority, createSelfSigned, issueLeaf, readCertificates } from "./x509.ts";
import type { KeyedCertificate } from "./x509.ts";
import { skipWithout } from "../../../test/support/programs.ts";

const now = Date.now();
const authority = await createAuthority({ commonName: "Test authority", now });
const folder = mkdtempSync(join(tmpdir(), "postern-x509-"));
after(() => rmSync(folder, { recursive: true }));

/** Returns the output of `openssl verify` for `leaf` under `root`, with the certificates between them. */
function opensslVerify(root: string, leaf: string, between = "", purpose = "sslserver"): string {
  const paths = {
    root: join(folder, "root.pem"),
    leaf: join(folder, "leaf.pem"),
    between: join(folder, "between.pem"),
  };
  writeFileSync(paths.root, root);
  writeFileSync(paths.leaf, leaf);
  writeFileSync(paths.between, between);
  const untrusted = between === "" ? [] : ["-untrusted", paths.between];
  const options = ["-x509_strict", "-purpose", purpose, "-CAfile", paths.root, ...untrusted, paths.leaf];
  return execFileSync("openssl", ["verify", ...options], { encoding: "utf8", stdio: "pipe" });
}

async function handshake(leaf: KeyedCertificate, host: string): Promise<string> {
  const server = createServer({ cert: leaf.certificatePem, key: leaf.keyPem }, (socket) => socket.end("hello"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const client = connect({
      port: (server.address() as AddressInfo).port,
      host: "127.0.0.1",
      servername: host,
      ca: authority.certificatePem,
    });
    const [bytes] = (await once(client, "data")) as [Buffer];
    client.destroy();
    return bytes.toString();
  } finally {
    server.close();
  }
}

const needsOpenssl = { skip: skipWithout("openssl") };

describe("X.509 certificates", () => {
  it("the X.509 writer creates an authority that OpenSSL accepts", needsOpenssl, () => {
    const certificate = new X509Certificate(authority.certificatePem);
    assert.equal(certificate.ca, true);
    assert.equal(certificate.verify(certificate.publicKey), true);
    assert.equal(certificate.checkPrivateKey(createPrivateKey(authority.keyPem)), true);
    assert.match(certificate.subject, /^CN=Test authority$/);
    assert.match(opensslVerify(authority.certificatePem, authority.certificatePem, "", "any"), /OK/);
  });

  it("the X.509 writer issues a leaf for exact names, wildcards and addresses", needsOpenssl, async () => {
    const names = ["a.example.com", "*.example.org", "127.0.0.1", "2001:db8::1", "::ffff:192.0.2.1"];
    const leaf = await issueLeaf(authority, { names, now, days: 90 });
    const certificate = new X509Certificate(leaf.certificatePem);
    const issuer = new X509Certificate(authority.certificatePem);
    assert.equal(certificate.verify(issuer.publicKey), true);
    assert.equal(certificate.checkIssued(issuer), true);
    assert.equal(certificate.ca, false);
    assert.equal(certificate.checkHost("a.example.com"), "a.example.com");
    assert.equal(certificate.checkHost("b.example.org"), "*.example.org");
    assert.equal(certificate.checkHost("b.example.com"), undefined);
    assert.equal(certificate.checkIP("127.0.0.1"), "127.0.0.1");
    assert.equal(certificate.checkIP("2001:db8::1"), "2001:db8::1");
    assert.equal(certificate.checkIP("2001:db8::2"), undefined);
    assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.1"]);
    assert.match(opensslVerify(authority.certificatePem, leaf.certificatePem), /OK/);
    assert.throws(() => opensslVerify(authority.certificatePem, leaf.certificatePem, "", "sslclient"));
  });

  for (const keyType of ["ec", "rsa"] as const) {
    it(`a TLS handshake completes with a leaf that has an ${keyType} key`, async () => {
      const leaf = await issueLeaf(authority, { names: ["a.example.com"], now, days: 1, keyType });
      assert.equal(await handshake(leaf, "a.example.com"), "hello");
      await assert.rejects(handshake(leaf, "b.example.com"), { code: "ERR_TLS_CERT_ALTNAME_INVALID" });
    });
  }

  it(
    "the X.509 writer issues through an intermediate authority, and respects its path length",
    needsOpenssl,
    async () => {
      const between = await createAuthority({ commonName: "Between", now, issuer: authority, pathLength: 0 });
      const leaf = await issueLeaf(between, { names: ["a.example.com"], now, days: 1, usages: ["clientAuth"] });
      const { certificatePem: root } = authority;
      assert.match(opensslVerify(root, leaf.certificatePem, between.certificatePem, "sslclient"), /OK/);
      const below = await createAuthority({ commonName: "Below", now, issuer: between });
      const tooDeep = await issueLeaf(below, { names: ["a.example.com"], now, days: 1 });
      assert.throws(() => opensslVerify(root, tooDeep.certificatePem, between.certificatePem + below.certificatePem));
    },
  );

  it("the X.509 writer creates self-signed RSA certificates", needsOpenssl, async () => {
    const own = await createSelfSigned({ names: ["sp.example.com"], now, days: 3650, keyType: "rsa" });
    const certificate = new X509Certificate(own.certificatePem);
    assert.equal(certificate.verify(certificate.publicKey), true);
    assert.equal(certificate.publicKey.asymmetricKeyDetails?.modulusLength, 2048);
    assert.match(opensslVerify(own.certificatePem, own.certificatePem, "", "any"), /OK/);
  });

  it("an X.509 certificate is valid from shortly before the given time, for the given days, never longer than the authority", async () => {
    const leaf = await issueLeaf(authority, { names: ["a.example.com"], now, days: 7 });
    const certificate = new X509Certificate(leaf.certificatePem);
    const second = 1000;
    assert.equal(certificate.validFromDate.getTime(), Math.floor((now - 3600 * second) / second) * second);
    assert.equal(certificate.validToDate.getTime(), Math.floor((now + 7 * 86400 * second) / second) * second);
    const long = new X509Certificate(
      (await issueLeaf(authority, { names: ["a.example.com"], now, days: 9000 })).certificatePem,
    );
    assert.equal(long.validTo, new X509Certificate(authority.certificatePem).validTo);
  });

  it("the X.509 writer writes years from 2050 on as GeneralizedTime", async () => {
    const late = await createAuthority({ commonName: "Late", now: Date.UTC(2060, 0, 2, 3, 4, 5) });
    assert.equal(new X509Certificate(late.certificatePem).validFrom, "Jan  2 02:04:05 2060 GMT");
  });

  it("the X.509 writer accepts names that are longer than a common name may be", needsOpenssl, async () => {
    const name = `${"a".repeat(60)}.${"b".repeat(60)}.example.com`;
    const leaf = await issueLeaf(authority, { names: [name], now, days: 1 });
    assert.equal(new X509Certificate(leaf.certificatePem).checkHost(name), name);
    assert.match(opensslVerify(authority.certificatePem, leaf.certificatePem), /OK/);
  });

  it("the X.509 writer rejects invalid names, and an authority with another authority's key", async () => {
    for (const name of ["", "a b", "a..b", "exa*mple.com", "a\0.example.com", "Ä.example", "fe80::1%eth0"]) {
      await assert.rejects(
        issueLeaf(authority, { names: [name], now, days: 1 }),
        /is not a DNS name|a common name has/,
        name,
      );
    }
    await assert.rejects(issueLeaf(authority, { names: [], now, days: 1 }), /needs 1 to 100 names/);
    const other = await createAuthority({ commonName: "Other", now });
    const mixed = { certificatePem: authority.certificatePem, keyPem: other.keyPem };
    await assert.rejects(issueLeaf(mixed, { names: ["a.example.com"], now, days: 1 }), /not its certificate's/);
  });

  it("the X.509 writer reads bundles in order and rejects empty ones", async () => {
    const other = await createAuthority({ commonName: "Other", now });
    const read = readCertificates(`# first\n${authority.certificatePem}\n# second\n${other.certificatePem}`);
    assert.deepEqual(
      read.map((one) => one.subject),
      ["CN=Test authority", "CN=Other"],
    );
    assert.throws(() => readCertificates("nothing"), /no CERTIFICATE block/);
    assert.throws(() => readCertificates("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"));
  });
});
