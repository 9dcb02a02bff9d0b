import { X509Certificate } from "node:crypto";
import { accessSync, constants, existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { toVisibleLine } from "../../lib/visible-text.ts";
import { flagOnly, toggle } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";
import { defineCommand } from "../command/command.ts";
import { dataFiles, readPublic } from "../data/data-files.ts";
import { Failure, exitCodes } from "../process/exit.ts";
import { askToConfirm } from "../terminal/confirm.ts";
import { changeStores, renderStores } from "../trust/install.ts";
import { trustStores } from "../trust/stores.ts";
import type { TrustedCa } from "../trust/stores.ts";

export const ca = defineCommand({
  name: "ca",
  doc: "Print the certificate of the server's own CA (PEM, to stdout), and instructions to trust it (to stderr). With --install, make this machine and its browsers trust it.",
  operands: "",
  least: 0,
  most: 0,
  settings: {
    data: settings.data,
    install: flagOnly(
      toggle(
        "Add the CA to the trusted CAs of the system, of Chromium and Chrome, and of Firefox. The command shows what it runs, asks first, and uses sudo only for the system.",
      ),
    ),
    uninstall: flagOnly(toggle("Remove the CA from these stores.")),
    user: flagOnly(toggle("With --install or --uninstall: change only the browsers of this user, without root.")),
    yes: flagOnly(toggle("Run the commands of --install or --uninstall without asking.")),
    dryRun: flagOnly(toggle("Print the commands of --install or --uninstall, and run none.")),
    json: settings.json,
  },
  examples: ["postern ca > postern-ca.pem", "postern ca --install", "postern ca --uninstall --yes"],
  run({ data: directory, install, uninstall, ...how }) {
    const pem = readPublic(directory, dataFiles.caCertificate);
    if (pem === undefined) {
      throw new Failure(
        "usage",
        `no CA in "${directory}": start a server there first, or set its directory with --data`,
      );
    }
    const file = resolve(directory, dataFiles.caCertificate);
    const certificate = new X509Certificate(pem);
    if (install && uninstall) throw new Failure("usage", "set --install or --uninstall, not both");
    if (install || uninstall) return changeTrust(trustedCaOf(file, certificate), install, how);
    printCa(file, certificate, pem, how.json);
    return Promise.resolve(exitCodes.fine);
  },
});

function trustedCaOf(file: string, { fingerprint256, fingerprint, serialNumber }: X509Certificate): TrustedCa {
  const hex = (text: string): string => text.replaceAll(":", "");
  return {
    file,
    id: `postern-${hex(fingerprint256).slice(0, 8).toLowerCase()}`,
    serialNumber,
    fingerprint: hex(fingerprint),
  };
}

async function changeTrust(
  trusted: TrustedCa,
  isInstall: boolean,
  how: { readonly user: boolean; readonly yes: boolean; readonly dryRun: boolean; readonly json: boolean },
): Promise<number> {
  const { user, yes, dryRun, json } = how;
  const isRoot = process.getuid?.() === 0;
  const invoker = process.env["SUDO_USER"];
  if (isRoot && invoker !== undefined && invoker !== "root") {
    throw new Failure(
      "usage",
      `run the command as ${toVisibleLine(invoker)}, without sudo: with sudo it would change the browsers of root. The command uses sudo only for the system`,
    );
  }
  const system = { platform: process.platform, home: homedir(), hasProgram, hasFolder: existsSync };
  const stores = trustStores(trusted, isInstall, system).filter(({ needsRoot }) => !user || !needsRoot);
  process.stderr.write(renderStores(stores, isRoot));
  if (dryRun) return exitCodes.fine;
  if (isInstall) {
    process.stderr.write(
      "\nAnyone who has ca.key can impersonate any site to this machine. Trust only your own servers.\n",
    );
  }
  if (!yes) {
    if (!process.stdin.isTTY) {
      throw new Failure("usage", "set --yes to run these commands without a terminal, or --dry-run to only print them");
    }
    if (!(await askToConfirm("Run these commands?"))) return exitCodes.fine;
  }
  const outcomes = changeStores(stores, isRoot);
  const marks = { done: "✓", skipped: "!", failed: "✗" } as const;
  process.stdout.write(
    json
      ? `${JSON.stringify({ ca: trusted.id, stores: outcomes })}\n`
      : outcomes
          .map(({ store, outcome, reason }) => `${marks[outcome]} ${store}${reason ? `: ${reason}` : ""}\n`)
          .join(""),
  );
  return outcomes.some(({ outcome }) => outcome === "failed") ? exitCodes.unexpected : exitCodes.fine;
}

function hasProgram(name: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function printCa(file: string, certificate: X509Certificate, pem: string, isJson: boolean): void {
  if (isJson) {
    const shown = {
      file,
      subject: certificate.subject,
      fingerprint256: certificate.fingerprint256,
      valid_to: new Date(certificate.validTo).toISOString(),
      pem,
    };
    process.stdout.write(`${JSON.stringify(shown)}\n`);
    return;
  }
  process.stdout.write(`${pem.trim()}\n`);
  process.stderr.write(renderInstructions(file, certificate));
}

function renderInstructions(file: string, certificate: X509Certificate): string {
  return `\n${file}\n${certificate.subject}, valid until ${certificate.validTo}\nSHA-256 ${certificate.fingerprint256}\n\nTrust this CA only on your own machines: anyone who has ca.key can impersonate any site to them.\n\n  This machine and its browsers  postern ca --install\n\nBy hand:\n\n  curl            curl --cacert ${file} https://…\n  Node            NODE_EXTRA_CA_CERTS=${file} node …\n  Debian, Ubuntu  sudo cp ${file} /usr/local/share/ca-certificates/postern.crt && sudo update-ca-certificates\n  Fedora, RHEL    sudo cp ${file} /etc/pki/ca-trust/source/anchors/postern.pem && sudo update-ca-trust\n  Chromium        certutil -A -d sql:$HOME/.pki/nssdb -t C,, -n postern -i ${file}\n  macOS           sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain ${file}\n  Windows         certutil -addstore -user Root ${file}\n  Firefox         Settings → Privacy & Security → View Certificates → Authorities → Import\n`;
}
