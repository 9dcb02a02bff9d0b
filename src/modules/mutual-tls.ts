import { f } from "../schema/fields.ts";
import { clientCertificate, wholeFieldText } from "../traffic/tls-certificates.ts";
import { defineModule } from "../traffic/module.ts";
import { authorityPem } from "../traffic/parts/authority-pem.ts";
import { changeStep, denyStep } from "../traffic/step.ts";

export const mutualTls = defineModule({
  name: "mutual_tls",
  schemaName: "EndpointMutualTLS",
  on: ["https_edge", "tls_edge"],
  doc: "Requests a client certificate in the TLS handshake, and rejects clients without a certificate of the given CAs. The upstream receives the certificate's subject in `ngrok-mtls-*` header fields.",
  acts: { handshake: ["refuse"], request: ["refuse", "change the request"] },
  fields: {
    certificate_authorities: f.refList(
      "CAs that client certificates must chain to.",
      { to: "certificate_authority", input: "certificate_authority_ids" },
      { required: true, minItems: 1, maxItems: 10 },
    ),
  },
  compile({ certificate_authority_ids }, scope) {
    const clientAuthorities = certificate_authority_ids.map((id) => authorityPem(scope, id)).join("\n");
    return {
      handshake: { clientAuthorities },
      request({ connection, request }) {
        const certificate = clientCertificate(connection.tls);
        if (!certificate) return unverified;
        const { headers } = request;
        headers.set("ngrok-mtls-subject-cn", wholeFieldText(certificate.subject["CN"] ?? ""));
        headers.set("ngrok-mtls-subject-alt-name-dns", renderList(certificate.dnsNames));
        headers.set("ngrok-mtls-email-addresses", renderList(certificate.emailAddresses));
        headers.set("ngrok-mtls-serial-number", certificate.serialNumber);
        return verified;
      },
    };
  },
});

const verified = changeStep("mutual_tls", "the client certificate was verified in the handshake");
/** Such a request can only arrive over a connection to a different edge (control R2). */
const unverified = denyStep("mutual_tls", "misdirected", "the connection has no verified client certificate");

function renderList(values: readonly string[]): string {
  return values.map((value) => wholeFieldText(value, ",")).join(",");
}
