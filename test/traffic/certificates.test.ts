/** Which certificate visitors are shown, as accounts upload and replace theirs. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { createSelfSigned } from "../../src/lib/certificates/x509.ts";
import type { KeyedCertificate } from "../../src/lib/certificates/x509.ts";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";

const dayMs = 86_400_000;
const other = "other.example.org";
const now = Date.now();

for (const protocol of protocols) {
  describe(`the certificate that is shown over ${protocol}`, () => {
    let fixture: EdgeWithAgent;
    before(async () => {
      fixture = await startEdgeWithAgent();
      fixture.put("https_edge", "edghts_2", { hostports: [`${other}:443`], mutual_tls: null, tls_termination: null });
      fixture.put("https_edge_route", "edghtsrt_2", {
        edge_id: "edghts_2",
        match_type: "path_prefix",
        match: "/",
        backend: { enabled: true, backend_id: "bkdtg_1" },
      });
    });
    after(() => fixture.stop());

    const made = (names: readonly string[], days: number, from = now) => createSelfSigned({ names, now: from, days });
    const upload = (id: string, keyed: Partial<KeyedCertificate>): void =>
      fixture.put("tls_certificate", id, { certificate_pem: keyed.certificatePem, private_key_pem: keyed.keyPem });
    const shown = async (name: string): Promise<string> => {
      const socket = await fixture.connect(protocol, { host: name, tls: { rejectUnauthorized: false } });
      const certificate = socket.getPeerX509Certificate() as X509Certificate;
      socket.destroy();
      return certificate.issuer === "CN=Test" ? "own" : certificate.fingerprint256;
    };
    const of = (keyed: KeyedCertificate): string => new X509Certificate(keyed.certificatePem).fingerprint256;
    const served = async (name: string): Promise<void> => {
      const answer = await fixture.ask(protocol, { host: name, tls: { rejectUnauthorized: false } });
      assert.equal(answer.status, 200);
    };

    it(`the certificate over ${protocol} is the uploaded one immediately: an exact name before a wildcard, and the newest valid one first`, async () => {
      assert.equal(await shown(host), "own");
      const wild = await made(["*.example.com"], 300);
      upload("cert_wild", wild);
      assert.equal(await shown(host), of(wild));
      const exact = await made([host], 300, now - dayMs);
      upload("cert_exact", exact);
      assert.equal(await shown(host), of(exact));
      const newer = await made([host], 5);
      upload("cert_newer", newer);
      upload("cert_future", await made([host], 300, now + 30 * dayMs));
      assert.equal(await shown(host), of(newer));
      await served(host);
      assert.equal(await shown(other), "own");
    });

    it(`the certificate over ${protocol} is never a broken or expired one, which do not take a host down either`, async () => {
      const good = await made([other], 10, now - dayMs);
      const foreign = await made([other], 10);
      upload("cert_good", good);
      upload("cert_mixed", { certificatePem: foreign.certificatePem, keyPem: good.keyPem });
      upload("cert_garbage", { certificatePem: "nothing", keyPem: good.keyPem });
      upload("cert_keyless", { certificatePem: foreign.certificatePem });
      assert.equal(await shown(other), of(good));
      await served(other);
      await served(host);
      fixture.clock.move(20 * dayMs);
      assert.equal(await shown(other), "own");
      await served(other);
      await served(host);
    });
  });
}
