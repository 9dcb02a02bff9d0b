import { X509Certificate } from "node:crypto";
import { defineCommand } from "../command/command.ts";
import { dataFiles, readPublic } from "../data/data-files.ts";
import { Failure, exitCodes } from "../process/exit.ts";
import { settings } from "../../settings/settings.ts";

export const ca = defineCommand({
  name: "ca",
  doc: "Print the certificate of the server's own CA (PEM, to stdout), and instructions to trust it (to stderr).",
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
        `no CA in "${directory}": start a server there first, or set its directory with --data`,
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
  return `\n${file}\n${certificate.subject}, valid until ${certificate.validTo}\nSHA-256 ${certificate.fingerprint256}\n\nTrust this CA only on your own machines: anyone who has ca.key can impersonate any site to them.\n\n  curl            curl --cacert ${file} https://…\n  Node            NODE_EXTRA_CA_CERTS=${file} node …\n  Debian, Ubuntu  sudo cp ${file} /usr/local/share/ca-certificates/postern.crt && sudo update-ca-certificates\n  Fedora, RHEL    sudo cp ${file} /etc/pki/ca-trust/source/anchors/postern.pem && sudo update-ca-trust\n  macOS           sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain ${file}\n  Windows         certutil -addstore -user Root ${file}\n  Firefox         Settings → Privacy & Security → View Certificates → Authorities → Import\n`;
}
