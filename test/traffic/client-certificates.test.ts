/** Invalid client certificates: none of them lets a byte of HTTP reach a service. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { makeMetrics } from "../../src/lib/metrics.ts";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import { eventually } from "../support/front.ts";
import {
  authorityConstraints,
  dnsNames,
  extendedUsage,
  keyUsage,
  oddCertificate,
  permittedNames,
  unknownCritical,
} from "../support/odd-certificates.ts";
import type { OddCertificate, OddOptions } from "../support/odd-certificates.ts";

const day = 86_400_000;
const certifies = keyUsage(5, 6);
const signs = keyUsage(0);
const authority = (more: Partial<OddOptions>, name = "Authority") =>
  oddCertificate({ name, extensions: [authorityConstraints(), certifies], ...more });
const leaf = (issuer: OddCertificate, more: Partial<OddOptions> = {}) =>
  oddCertificate({
    name: "client",
    issuer,
    extensions: [signs, extendedUsage("clientAuth"), dnsNames("client.example.com")],
    ...more,
  });
const below = (issuer: OddCertificate, more: Partial<OddOptions> = {}) =>
  oddCertificate({ name: "Between", issuer, extensions: [authorityConstraints(), certifies], ...more });

const root = authority({});
const rsaRoot = authority({ key: { rsaBits: 2048 } }, "RSA");
const shortRoot = authority({ key: { rsaBits: 1024 } }, "Short");
const shallow = authority({ extensions: [authorityConstraints(0), certifies] }, "Shallow");
const narrow = authority({ extensions: [authorityConstraints(), certifies, permittedNames("example.com")] }, "Narrow");
const expiredRoot = authority({ notBefore: Date.now() - 9 * day, notAfter: Date.now() - day }, "Expired");
const trusted = [root, rsaRoot, shortRoot, shallow, narrow, expiredRoot];

/** A leaf with its chain up to the authority. */
type Shown = readonly [leaf: OddCertificate, ...between: readonly OddCertificate[]];

function through(between: OddCertificate): Shown {
  return [leaf(between), between];
}

const good: Readonly<Record<string, Shown>> = {
  "of the authority itself": [leaf(root)],
  "of one below it": through(below(root)),
  "of an authority that certifies leaves alone": [leaf(shallow)],
  "with a name that the authority may certify": [leaf(narrow)],
  "with a key of RSA with 2048 bits": [leaf(rsaRoot, { key: { rsaBits: 2048 } })],
};

const refused: Readonly<Record<string, Shown>> = {
  "of another authority with the same name": [leaf(authority({}))],
  "signed by itself": [oddCertificate({ name: "client", extensions: [signs, extendedUsage("clientAuth")] })],
  expired: [leaf(root, { notBefore: Date.now() - 9 * day, notAfter: Date.now() - day })],
  "not yet valid": [leaf(root, { notBefore: Date.now() + day, notAfter: Date.now() + 9 * day })],
  "of an expired authority": [leaf(expiredRoot)],
  "below an expired authority": through(below(root, { notBefore: Date.now() - 9 * day, notAfter: Date.now() - day })),
  "for servers": [leaf(root, { extensions: [signs, extendedUsage("serverAuth")] })],
  "that may not sign": [leaf(root, { extensions: [keyUsage(6), extendedUsage("clientAuth")] })],
  "signed with SHA-1": [leaf(rsaRoot, { hash: "sha1" })],
  "signed with SHA-1, on a curve": [leaf(root, { hash: "sha1" })],
  "below an authority that is signed with SHA-1": through(below(rsaRoot, { hash: "sha1" })),
  "with a key of RSA with 1024 bits": [leaf(root, { key: { rsaBits: 1024 } })],
  "below an authority with a key of RSA with 1024 bits": through(below(root, { key: { rsaBits: 1024 } })),
  "of an authority with a key of RSA with 1024 bits": [leaf(shortRoot)],
  "below an authority that may only certify leaves": through(below(shallow)),
  "of a certificate that is no authority": through(below(root, { extensions: [signs] })),
  "of an authority that may not certify": through(below(root, { extensions: [authorityConstraints(), signs] })),
  "with a name that the authority may not certify": [
    leaf(narrow, { extensions: [signs, extendedUsage("clientAuth"), dnsNames("client.elsewhere.net")] }),
  ],
  "with a critical extension that nobody knows": [
    leaf(root, { extensions: [signs, extendedUsage("clientAuth"), unknownCritical()] }),
  ],
};

const metrics = makeMetrics();
let fixture: EdgeWithAgent;
before(async () => {
  fixture = await startEdgeWithAgent({ metrics });
  const ca_pem = trusted.map(({ pem }) => pem).join("");
  fixture.put("certificate_authority", "ca_1", { ca_pem });
  fixture.put("https_edge", "edghts_1", {
    hostports: ["app.example.com:443"],
    mutual_tls: { enabled: true, certificate_authority_ids: ["ca_1"] },
    tls_termination: null,
  });
});
after(() => fixture.stop());

function failedHandshakes(): number {
  return Number(/^postern_tls_handshakes_total\{result="failed"\} (\d+)$/m.exec(metrics.render())?.[1] ?? 0);
}

for (const protocol of protocols) {
  for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
    describe(`K2: a client certificate over ${protocol} and ${maxVersion}`, () => {
      const ask = ([own, ...between]: Shown) => {
        const cert = [own, ...between].map(({ pem }) => pem).join("");
        // Sends what the client's own library would refuse to send.
        const tls = { cert, key: own.keyPem, maxVersion, ciphers: "DEFAULT@SECLEVEL=0" };
        return fixture.ask(protocol, { tls });
      };

      for (const [what, shown] of Object.entries(good)) {
        it(`K2: a client certificate over ${protocol} and ${maxVersion}: ${what} is accepted`, async () => {
          assert.equal((await ask(shown)).status, 200);
          assert.equal(fixture.received.at(-1)?.headers["ngrok-mtls-subject-cn"], "client");
        });
      }
      it(`K2: a missing client certificate over ${protocol} and ${maxVersion} is reported in an alert`, async () => {
        const alert = maxVersion === "TLSv1.3" ? /alert certificate required/ : /alert handshake failure/;
        await assert.rejects(fixture.ask(protocol, { tls: { maxVersion } }), alert);
      });
      for (const [what, shown] of Object.entries(refused)) {
        it(`K2: a client certificate over ${protocol} and ${maxVersion}: ${what} is refused in the handshake`, async () => {
          const reached = fixture.received.length;
          const failed = failedHandshakes() + 1;
          await assert.rejects(ask(shown));
          // by the edge: not because the client could not show it
          await eventually(() => failedHandshakes() === failed);
          assert.equal(fixture.received.length, reached);
        });
      }
    });
  }
}

for (const protocol of protocols) {
  describe(`the header fields of a client certificate over ${protocol}`, () => {
    const fields = ["subject-cn", "subject-alt-name-dns", "email-addresses", "serial-number"].map(
      (name) => `ngrok-mtls-${name}`,
    );
    const lies = Object.fromEntries(
      fields.flatMap((name) =>
        [name, name.replaceAll("-", "_"), name.replace("ngrok-", "ngrok_"), name.replaceAll("-", ".")].map(
          (variant) => [variant, "root"] as const,
        ),
      ),
    );
    const claimed = (): readonly (readonly [string, unknown])[] =>
      Object.entries(fixture.received.at(-1)?.headers ?? {}).filter(([name]) => /^(ngrok|postern)/i.test(name));

    it(`R3, W2, K2: the header fields of a client certificate over ${protocol} come only from the edge, whatever spelling a client sends`, async () => {
      const own = leaf(root);
      const answer = await fixture.ask(protocol, { headers: lies, tls: { cert: own.pem, key: own.keyPem } });
      assert.equal(answer.status, 200);
      assert.deepEqual(
        claimed()
          .map(([name]) => name)
          .sort(),
        fields.toSorted(),
      );
      assert.ok(claimed().every(([, value]) => value !== "root"));
    });

    it(`R3, W2: the header fields of a client certificate over ${protocol} are absent if no certificate is requested`, async () => {
      fixture.put("https_edge", "edghts_open", { hostports: ["open.example.com:443"], mutual_tls: null });
      fixture.put("https_edge_route", "edghtsrt_open", {
        edge_id: "edghts_open",
        match_type: "path_prefix",
        match: "/",
        backend: { enabled: true, backend_id: "bkdtg_1" },
      });
      assert.equal((await fixture.ask(protocol, { host: "open.example.com", headers: lies })).status, 200);
      assert.deepEqual(claimed(), []);
    });
  });
}
