import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";
import { weakCertificate } from "../support/weak-certificate.ts";

const now = Date.now();

for (const database of databases) {
  describe(`certificates and backends of backends on ${database.name}`, () => {
    let api: TestApi;
    before(async () => {
      api = await startApi(database);
    });
    after(() => api.stop());
    const root = createAuthority({ commonName: "Root", now });
    const below = root.then((issuer) => createAuthority({ commonName: "Below", now, issuer }));
    const leaf = below.then((issuer) => issueLeaf(issuer, { names: ["a.example.com", "192.0.2.1"], days: 30, now }));

    it(`K4: the API on ${database.name} shows a certificate's details and never its private key`, async () => {
      const { certificatePem, keyPem } = await leaf;
      const body = { certificate_pem: certificatePem + (await below).certificatePem, private_key_pem: keyPem };
      const created = await api.request("POST", "/tls_certificates", { body });
      assert.equal(created.status, 201, created.text);
      const { subject_alternative_names, issuer_common_name, private_key_type } = created.body;
      assert.deepEqual(subject_alternative_names, { dns_names: ["a.example.com"], ips: ["192.0.2.1"] });
      assert.deepEqual([issuer_common_name, private_key_type], ["Below", "ecdsa"]);
      for (const path of [`/tls_certificates/${created.body.id}`, "/tls_certificates"]) {
        assert.doesNotMatch((await api.request("GET", path)).text, /PRIVATE KEY/);
      }
    });

    it(`the API on ${database.name} refuses unordered chains, wrong keys and encrypted keys, without repeating them`, async () => {
      const { certificatePem, keyPem } = await leaf;
      const chain = certificatePem + (await below).certificatePem + (await root).certificatePem;
      const wrongOrder = certificatePem + (await root).certificatePem;
      const cases: readonly [Record<string, string>, string][] = [
        [{ certificate_pem: wrongOrder, private_key_pem: keyPem }, "certificate_pem"],
        [{ certificate_pem: chain, private_key_pem: (await root).keyPem }, "private_key_pem"],
        [
          { certificate_pem: chain, private_key_pem: keyPem.replaceAll("PRIVATE", "ENCRYPTED PRIVATE") },
          "private_key_pem",
        ],
        [{ certificate_pem: keyPem, private_key_pem: keyPem }, "certificate_pem"],
      ];
      for (const [body, path] of cases) {
        const refused = await api.request("POST", "/tls_certificates", { body });
        assert.deepEqual([refused.status, refused.body.error_code], [400, errorCode("certificate_invalid")]);
        assert.ok(path in refused.body.details);
        assert.ok(!refused.text.includes(keyPem.split("\n")[1] as string));
      }
    });

    it(`K1: the API on ${database.name} refuses a key that is too weak for TLS`, async () => {
      const body = { certificate_pem: weakCertificate.certificatePem, private_key_pem: weakCertificate.keyPem };
      const refused = await api.request("POST", "/tls_certificates", { body });
      assert.deepEqual([refused.status, refused.body.error_code], [400, errorCode("certificate_invalid")]);
      assert.match(refused.text, /"certificate_pem":"[^"]*2048 bits/);
    });

    it("an upload may hold several certificate authorities, and nothing else", async () => {
      const ca_pem = (await root).certificatePem + (await below).certificatePem;
      const created = await api.ok("POST", "/certificate_authorities", { ca_pem });
      assert.deepEqual([created.subject_common_name, created.ca_pem], ["Root", ca_pem]);
      assert.ok(created.key_usages.includes("cert_sign"));
      const mixed = { ca_pem: ca_pem + (await leaf).certificatePem };
      assert.equal((await api.request("POST", "/certificate_authorities", { body: mixed })).status, 400);
      const edge = await api.ok("POST", "/edges/https", { mutual_tls: { certificate_authority_ids: [created.id] } });
      const used = await api.request("DELETE", `/certificate_authorities/${created.id}`);
      assert.deepEqual([used.status, used.body.details.referrer_uri], [409, edge.uri]);
    });

    it(`a domain on ${database.name} has a certificate or a policy, whichever was set last`, async () => {
      const { certificatePem, keyPem } = await leaf;
      const uploaded = await api.ok("POST", "/tls_certificates", {
        certificate_pem: certificatePem,
        private_key_pem: keyPem,
      });
      const policy = { authority: "letsencrypt", private_key_type: "ecdsa" };
      const made = await api.ok("POST", "/reserved_domains", { domain: "c.example.com", certificate_id: uploaded.id });
      const path = `/reserved_domains/${made.id}`;
      const second = await api.ok("PATCH", path, { certificate_management_policy: policy });
      assert.deepEqual([second.certificate, second.certificate_management_policy], [null, policy]);
      const third = await api.ok("PATCH", path, { certificate_id: uploaded.id });
      assert.deepEqual([third.certificate.id, third.certificate_management_policy], [uploaded.id, null]);
      const body = { domain: "d.example.com", certificate_id: uploaded.id, certificate_management_policy: policy };
      assert.equal((await api.request("POST", "/reserved_domains", { body })).status, 400);
    });

    it(`the API on ${database.name} refuses backends that lead back to themselves, or nest too deep`, async () => {
      let inner = (await api.ok("POST", "/backends/static", { address: "10.0.0.1:80" })).id;
      const chain: string[] = [];
      for (let depth = 0; depth < 5; depth += 1) {
        inner = (await api.ok("POST", "/backends/failover", { backends: [inner] })).id;
        chain.push(inner);
      }
      const deep = await api.request("POST", "/backends/weighted", { body: { backends: { [inner]: 1 } } });
      assert.deepEqual([deep.status, deep.body.error_code], [400, errorCode("backend_nesting")]);
      for (const member of chain.slice(0, 3)) {
        const circle = await api.request("PATCH", `/backends/failover/${chain[0]}`, { body: { backends: [member] } });
        assert.deepEqual([circle.status, circle.body.error_code], [400, errorCode("backend_nesting")]);
      }
    });
  });
}
