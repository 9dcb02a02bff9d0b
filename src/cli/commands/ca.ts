import { X509Certificate } from "node:crypto";
import { defineCommand } from "../command/command.ts";
import { dataFiles, readPublic } from "../data/data-files.ts";
import { Failure, exitCodes } from "../process/exit.ts";
import { settings } from "../../settings/settings.ts";

export const ca = defineCommand({
  name: "ca",
  doc: "Print the certificate of the server's own CA (PEM, on stdout), and how to trust it (on stderr).",
  operands: "",
  least: 0,
  most: 0,
  settings: { data: settings.data, json: settings.json },
  examples: ["postern ca > postern-ca.pem"],
  run({ data: directory, json }) {
    const pem = readPublic(directory, dataFiles.caCertificate);
    if (pem === undefined) {
      throw new Failure(
        "usage",
        `there is no CA in "${directory}": start a server there first, or name its directory with --data`,
      );
    }
    const file = `${directory}/${dataFiles.caCertificate}`;
    const certificate = new X509Certificate(pem);
    if (json) {
      const shown = {
        file,
        subject: certificate.subject,
        fingerprint256: certificate.fingerprint256,
        valid_to: new Date(certificate.validTo).toISOString(),
        pem,
      };
      process.stdout.write(`${JSON.stringify(shown)}\n`);
      return Promise.resolve(exitCodes.fine);
    }
    process.stdout.write(`${pem.trim()}\n`);
    process.stderr.write(instructions(file, certificate));
    return Promise.resolve(exitCodes.fine);
  },
});

function instructions(file: string, certificate: X509Certificate): string {
  return `
${file}
${certificate.subject}, valid until ${certificate.validTo}
SHA-256 ${certificate.fingerprint256}

Trust it only on machines of your own: whoever has ca.key can impersonate any site to them.

  curl            curl --cacert ${file} https://…
  Node            NODE_EXTRA_CA_CERTS=${file} node …
  Debian, Ubuntu  sudo cp ${file} /usr/local/share/ca-certificates/postern.crt && sudo update-ca-certificates
  Fedora, RHEL    sudo cp ${file} /etc/pki/ca-trust/source/anchors/postern.pem && sudo update-ca-trust
  macOS           sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain ${file}
  Windows         certutil -addstore -user Root ${file}
  Firefox         Settings → Privacy & Security → View Certificates → Authorities → Import
`;
}
