import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { weakCertificate } from "../../../test/support/weak-certificate.ts";
import { silentLog } from "../../lib/log.ts";
import { createAuthority, createSelfSigned } from "../../lib/certificates/x509.ts";
import type { KeyedCertificate } from "../../lib/certificates/x509.ts";
import type { Site } from "../../routing/sites/compiled-site.ts";
import type { ResourceObject } from "../../schema/object.ts";
import { makeCertificates } from "./certificates.ts";
import { dayMs } from "../../lib/durations.ts";

const start = Date.UTC(2030, 0, 1);
const authority = await createAuthority({ commonName: "Own", now: start, days: 1000 });
const shop = siteOf("shop.example.com");

function siteOf(host: string, accountId = "ac_1"): Site {
  return {
    kind: "https_edge",
    id: `edge_${host}`,
    accountId,
    revision: 1,
    hosts: [host],
    handshake: {},
    problem: undefined,
    findRoute: () => undefined,
    advertises: () => false,
  };
}

function uploaded(id: string, keyed: KeyedCertificate, revision = 1, accountId = "ac_1"): ResourceObject {
  const doc = { certificate_pem: keyed.certificatePem, private_key_pem: keyed.keyPem };
  return { kind: "tls_certificate", id, account_id: accountId, revision, doc };
}

function upload(object: ResourceObject) {
  return { kind: object.kind, id: object.id, account_id: object.account_id, object };
}

const make = () => {
  const clock = makeManualClock(start);
  const certificates = makeCertificates({
    authority,
    maxLeaves: 100,
    domain: "apps.example.com",
    serverAccount: () => "ac_server",
    clock,
    log: silentLog,
  });
  const shown = async (host: string, site: Site | undefined): Promise<string> => {
    const certificate = await certificates.choose(host, site);
    if (!certificate) return "none";
    const { issuer, subjectAltName } = new X509Certificate(certificate.certificatePem);
    return issuer === "CN=Own" ? `own ${subjectAltName}` : certificate.id;
  };
  return { clock, certificates, shown };
};
const selfSigned = (names: readonly string[], days = 90, now = start) => createSelfSigned({ names, now, days });

describe("the choice of a certificate", () => {
  it("the choice of a certificate prefers an uploaded one: exact name, then wildcard, then the server's own authority", async () => {
    const { certificates, shown } = make();
    assert.equal(await shown("shop.example.com", shop), "own DNS:shop.example.com");
    certificates.uploaded.load([uploaded("cert_wild", await selfSigned(["*.example.com"]))]);
    assert.equal(await shown("shop.example.com", shop), "cert_wild@1");
    certificates.uploaded.change([upload(uploaded("cert_exact", await selfSigned(["x.org", "shop.example.com"])))]);
    assert.equal(await shown("shop.example.com", shop), "cert_exact@1");
    assert.equal(await shown("a.shop.example.com", siteOf("a.shop.example.com")), "own DNS:a.shop.example.com");
    const { kind, id, account_id } = uploaded("cert_exact", authority);
    certificates.uploaded.change([{ kind, id, account_id, object: null }]);
    assert.equal(await shown("shop.example.com", shop), "cert_wild@1");
    certificates.uploaded.load([]);
    assert.equal(await shown("shop.example.com", shop), "own DNS:shop.example.com");
  });

  it("the choice of a certificate prefers the newest valid one, and returns to the previous one after its end", async () => {
    const { clock, certificates, shown } = make();
    certificates.uploaded.load([
      uploaded("cert_long", await selfSigned(["shop.example.com"], 300)),
      uploaded("cert_future", await selfSigned(["shop.example.com"], 300, start + 10 * dayMs)),
      uploaded("cert_short", await selfSigned(["shop.example.com"], 5, start + 1000)),
    ]);
    assert.equal(await shown("shop.example.com", shop), "cert_short@1");
    clock.pass(6 * dayMs);
    assert.equal(await shown("shop.example.com", shop), "cert_long@1");
    clock.pass(6 * dayMs);
    assert.equal(await shown("shop.example.com", shop), "cert_future@1");
    clock.pass(400 * dayMs);
    assert.equal(await shown("shop.example.com", shop), "own DNS:shop.example.com");
  });

  it("the choice of a certificate skips broken ones without an outage of the host", async () => {
    const { certificates, shown } = make();
    const good = await selfSigned(["shop.example.com"], 90, start - dayMs);
    const other = await selfSigned(["shop.example.com"]);
    certificates.uploaded.load([
      uploaded("cert_good", good),
      uploaded("cert_mixed", { certificatePem: other.certificatePem, keyPem: good.keyPem }),
      uploaded("cert_keyless", { certificatePem: other.certificatePem, keyPem: "nothing" }),
      uploaded("cert_garbage", { certificatePem: "nothing", keyPem: other.keyPem }),
      { ...uploaded("cert_empty", other), doc: {} },
    ]);
    assert.equal(await shown("shop.example.com", shop), "cert_good@1");
  });

  it("K1: the choice of a certificate skips one with a weak key", async () => {
    const { certificates, shown } = make();
    const weak = siteOf("weak.example.com");
    certificates.uploaded.load([uploaded("cert_weak", weakCertificate)]);
    assert.equal(await shown("weak.example.com", weak), "own DNS:weak.example.com");
    certificates.uploaded.change([upload(uploaded("cert_good", await selfSigned(["*.example.com"])))]);
    assert.equal(await shown("weak.example.com", weak), "cert_good@1");
  });

  it("the choice of a certificate stops using a replaced one", async () => {
    const { certificates, shown } = make();
    certificates.uploaded.load([uploaded("cert_1", await selfSigned(["shop.example.com"]))]);
    certificates.uploaded.change([upload(uploaded("cert_1", await selfSigned(["other.example.com"]), 2))]);
    assert.equal(await shown("shop.example.com", shop), "own DNS:shop.example.com");
    assert.equal(await shown("other.example.com", siteOf("other.example.com")), "cert_1@2");
  });

  it("P1: the choice of a certificate never uses one account's certificate for another account's host", async () => {
    const { certificates, shown } = make();
    certificates.uploaded.load([uploaded("cert_theirs", await selfSigned(["shop.example.com"]), 1, "ac_2")]);
    assert.equal(await shown("shop.example.com", shop), "own DNS:shop.example.com");
    assert.equal(await shown("shop.example.com", siteOf("shop.example.com", "ac_2")), "cert_theirs@1");
  });

  it("the choice of a certificate uses the server account's wildcard for all accounts' names below the server's domain, after their own, and for nothing else", async () => {
    const { clock, certificates, shown } = make();
    const wildcard = uploaded("cert_server", await selfSigned(["*.apps.example.com", "*.example.com"]), 1, "ac_server");
    certificates.uploaded.load([wildcard]);
    const host = "shop.apps.example.com";
    assert.equal(await shown(host, siteOf(host)), "cert_server@1");
    assert.equal(await shown("stranger.apps.example.com", undefined), "cert_server@1");
    assert.equal(await shown("shop.example.com", shop), "own DNS:shop.example.com");
    assert.equal(await shown("badapps.example.com", siteOf("badapps.example.com")), "own DNS:badapps.example.com");
    certificates.uploaded.change([upload(uploaded("cert_own", await selfSigned([host], 10)))]);
    assert.equal(await shown(host, siteOf(host)), "cert_own@1");
    clock.pass(11 * dayMs);
    assert.equal(await shown(host, siteOf(host)), "cert_server@1");
    clock.pass(90 * dayMs);
    assert.equal(await shown(host, siteOf(host)), `own DNS:${host}`);
  });

  it("the choice of a certificate issues a thousand in one burst for covered names, and more for listed ones", async () => {
    const { certificates } = make();
    const wild = siteOf("*.example.com");
    const asked = Array.from({ length: 1001 }, (_, at) => certificates.choose(`x${at}.deep.example.com`, wild));
    assert.ok(asked[999] instanceof Promise);
    assert.equal(asked[1000], undefined);
    assert.ok(certificates.choose("shop.example.com", shop) instanceof Promise);
    await Promise.all(asked.map(async (made) => await made));
  });

  it("the choice of a certificate reuses an issued leaf and renews it before its end", async () => {
    const { clock, certificates } = make();
    const choose = async () => (await certificates.choose("shop.example.com", shop))?.id;
    const first = await choose();
    assert.equal(await choose(), first);
    clock.pass(61 * dayMs);
    assert.equal(await choose(), first);
    let renewed = first;
    while (renewed === first) {
      await new Promise((resolve) => setImmediate(resolve));
      renewed = await choose();
    }
    clock.pass(200 * dayMs);
    const after = await certificates.choose("shop.example.com", shop);
    assert.ok((after?.notAfter ?? 0) > clock.now());
  });
});
