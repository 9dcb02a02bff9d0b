import { X509Certificate } from "node:crypto";
import { systemClock } from "../../lib/clock.ts";
import { toVisibleLine } from "../../lib/visible-text.ts";
import { flagOnly, toggle } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { findCertificates } from "../imports/certificate-folder.ts";
import { exitCodes, Failure } from "../process/exit.ts";

interface Result {
  readonly file: string;
  readonly names: readonly string[];
  readonly outcome: "uploaded" | "would upload" | "present" | "skipped";
  /** Id at the server, or why the certificate was skipped. */
  readonly detail: string;
}

export const importCertificates = defineCommand({
  name: "import certificates",
  doc: "Upload the certificates and keys in a folder of certbot, acme.sh, Caddy, lego or another program. Of several certificates with the same names, the one that expires last is uploaded. Certificates that the server has already, have expired or have no key are skipped.",
  operands: "DIR",
  least: 1,
  most: 1,
  settings: {
    ...apiSettings,
    dryRun: flagOnly(toggle("Show what would be uploaded, and upload nothing.")),
    json: settings.json,
  },
  examples: [
    "postern import certificates /etc/letsencrypt/live",
    "postern import certificates ~/.acme.sh --dry-run",
    "postern import certificates /var/lib/caddy/.local/share/caddy/certificates",
    "postern import certificates /etc/lego/certificates",
  ],
  async run({ dryRun, json, ...access }, [folder = ""]) {
    const { found, skipped } = findCertificates(folder, systemClock.now());
    if (found.length === 0) {
      const why = skipped.map(({ file, reason }) => `${file}: ${reason}`).join("; ");
      throw new Failure(
        "usage",
        toVisibleLine(
          `"${folder}" has no certificate that a server can use${why === "" ? ": name the folder with the certificates and their keys" : ` (${why})`}`,
        ),
      );
    }
    const results: Result[] = [];
    try {
      const api = await openApi(access);
      const present = new Map<string, string>();
      for await (const { id, certificate_pem: pem } of api.tlsCertificates.list()) present.set(fingerprintOf(pem), id);
      for (const { file, names, fingerprint, certificatePem, privateKeyPem } of found) {
        const known = present.get(fingerprint);
        if (known !== undefined) results.push({ file, names, outcome: "present", detail: known });
        else if (dryRun) results.push({ file, names, outcome: "would upload", detail: "" });
        else {
          const { id } = await api.tlsCertificates.create({
            certificate_pem: certificatePem,
            private_key_pem: privateKeyPem,
            description: `Imported: ${names[0]}`.slice(0, 255),
          });
          results.push({ file, names, outcome: "uploaded", detail: id });
        }
      }
    } catch (error) {
      printResults(results, json);
      throw apiFailure(error);
    }
    results.push(
      ...skipped.map(({ file, reason }) => ({ file, names: [], outcome: "skipped" as const, detail: reason })),
    );
    printResults(results, json);
    return exitCodes.fine;
  },
});

function printResults(results: readonly Result[], json: boolean): void {
  process.stdout.write(
    json
      ? `${JSON.stringify({ certificates: results })}\n`
      : results
          .map(({ outcome, names, detail, file }) =>
            toVisibleLine([outcome, names.join(", "), detail, file].filter((part) => part !== "").join("  ")),
          )
          .map((line) => `${line}\n`)
          .join(""),
  );
}

function fingerprintOf(pem: string): string {
  return new X509Certificate(pem).fingerprint256;
}
