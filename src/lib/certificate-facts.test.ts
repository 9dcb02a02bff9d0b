import assert from "node:assert/strict";
import { test } from "node:test";
import { certificateFacts, readPemCertificates } from "./certificate-facts.ts";
import { createAuthority, issueLeaf } from "./x509.ts";

const now = Date.UTC(2026, 0, 1);

test("the facts of a certificate are read from its PEM", async () => {
  const authority = await createAuthority({ commonName: "Test CA", now });
  const leaf = await issueLeaf(authority, { names: ["a.example.com"], days: 30, now });
  const read = readPemCertificates(`${leaf.certificatePem}\n${authority.certificatePem}`, 5);
  assert.ok(Array.isArray(read));
  const facts = certificateFacts(read[0]);
  assert.equal(facts.issuerCommonName, "Test CA");
  assert.deepEqual(facts.dnsNames, ["a.example.com"]);
  assert.ok(facts.keyUsages.includes("digital_signature"));
  assert.ok(facts.extendedKeyUsages.includes("server_auth"));
  assert.match(facts.serialNumber, /^[0-9a-f]+$/);
  assert.equal(facts.keyType, "ecdsa");
  assert.ok(certificateFacts(read[1]).keyUsages.includes("cert_sign"));
});

test("what is not only certificates is refused", async () => {
  const { certificatePem, keyPem } = await createAuthority({ commonName: "Test CA", now });
  for (const pem of [
    "",
    "x",
    `${certificatePem}x`,
    `${certificatePem}\n${keyPem}`,
    certificatePem.replace("\n", "\nA: b\n"),
  ]) {
    assert.equal(typeof readPemCertificates(pem, 5), "string");
  }
  assert.equal(typeof readPemCertificates(certificatePem.repeat(3), 2), "string");
  assert.equal(typeof readPemCertificates(certificatePem.replace(/\n[^-\n]{10}/, "\nAAAAAAAAAA"), 2), "string");
});
