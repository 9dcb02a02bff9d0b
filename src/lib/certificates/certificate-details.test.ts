import assert from "node:assert/strict";
import { test } from "node:test";
import { certificateDetails, readPemCertificates } from "./certificate-details.ts";
import { createAuthority, issueLeaf } from "./x509.ts";

const now = Date.UTC(2026, 0, 1);

test("the details of a certificate are parsed from its PEM", async () => {
  const authority = await createAuthority({ commonName: "Test CA", now });
  const leaf = await issueLeaf(authority, { names: ["a.example.com"], days: 30, now });
  const read = readPemCertificates(`${leaf.certificatePem}\n${authority.certificatePem}`, 5);
  assert.ok(Array.isArray(read));
  const details = certificateDetails(read[0]);
  assert.equal(details.issuerCommonName, "Test CA");
  assert.deepEqual(details.dnsNames, ["a.example.com"]);
  assert.ok(details.keyUsages.includes("digital_signature"));
  assert.ok(details.extendedKeyUsages.includes("server_auth"));
  assert.match(details.serialNumber, /^[0-9a-f]+$/);
  assert.equal(details.keyType, "ecdsa");
  assert.ok(certificateDetails(read[1]).keyUsages.includes("cert_sign"));
});

test("a text with anything but certificates is rejected", async () => {
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
