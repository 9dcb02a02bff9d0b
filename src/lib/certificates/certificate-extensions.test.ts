import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { describe, it } from "node:test";
import { certificateExtensions } from "./certificate-extensions.ts";
import { encodeBoolean, encodeDer, octetString, encodeOid, encodeSequence, tag } from "./der.ts";
import { createAuthority, issueLeaf } from "./x509.ts";

const now = Date.UTC(2026, 0, 2);
const own = encodeSequence(encodeOid("1.3.6.1.4.1.99999.1.128"), encodeBoolean(true), octetString(Buffer.from("own")));

describe("extensions of a certificate", () => {
  it("extensions of a certificate have an identifier, a critical flag, and a value", async () => {
    const authority = await createAuthority({ commonName: "CA", now });
    const leaf = await issueLeaf(authority, { names: ["a.example"], now, days: 1, extensions: [own] });
    const found = certificateExtensions(new X509Certificate(leaf.certificatePem).raw);
    assert.deepEqual(
      found.find(({ oid: id }) => id === "1.3.6.1.4.1.99999.1.128"),
      { oid: "1.3.6.1.4.1.99999.1.128", critical: true, value: Buffer.from("own") },
    );
    const names = found.find(({ oid: id }) => id === "2.5.29.17");
    assert.equal(names?.critical, false);
    assert.match(names?.value.toString("latin1") ?? "", /a\.example$/);
    const constraints = certificateExtensions(new X509Certificate(authority.certificatePem).raw).find(
      ({ oid: id }) => id === "2.5.29.19",
    );
    assert.equal(constraints?.critical, true);
  });

  it("D8: extensions of a certificate with an endless identifier do not take quadratic time to parse", async () => {
    const authority = await createAuthority({ commonName: "CA", now });
    const long = encodeSequence(
      encodeDer(tag.oid, Buffer.alloc(90_000, 0x81), Buffer.of(1)),
      octetString(Buffer.from("own")),
    );
    const leaf = await issueLeaf(authority, { names: ["a.example"], now, days: 1, extensions: [long] });
    const found = certificateExtensions(new X509Certificate(leaf.certificatePem).raw);
    assert.ok(found.some(({ oid: id, value }) => id === "" && value.toString() === "own"));
  });

  it("extensions of text that is not a certificate are rejected", () => {
    assert.throws(() => certificateExtensions(Buffer.from("none")), /read/);
    assert.throws(() => certificateExtensions(encodeSequence()), /read a certificate/);
  });
});
