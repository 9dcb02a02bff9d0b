import { defineCommand } from "../command/command.ts";
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { dataFiles, readPublic } from "../data/data-files.ts";
import { exitCodes } from "../process/exit.ts";
import { checkLoginHost } from "../doctor/login-host.ts";
import { checkTelemetry } from "../doctor/check-telemetry.ts";
import { printFindings } from "../doctor/finding.ts";
import type { Finding } from "../doctor/finding.ts";
import { checkSsh } from "../doctor/ssh.ts";
import { samlUrls } from "../doctor/saml-urls.ts";
import { testDnsProvider } from "../../api/provisioning/dns-test.ts";
import { systemClock } from "../../lib/clock.ts";
import { acmeSettings } from "../../settings/acme.ts";
import { sliceOf } from "../../settings/setting.ts";
import { telemetrySettings } from "../../settings/telemetry.ts";
import { idpHostOf, idpUrl } from "../../lib/server-names.ts";
import { settings } from "../../settings/settings.ts";

export const doctor = defineCommand({
  name: "doctor",
  doc: "Check the requirements for visitors' logins: the login host resolves to this server and has a valid certificate, and stored SAML addresses match it. With --acme-dns-provider, also set and remove a test record at the DNS provider. With --ssh-listen, also check the SSH listener, its host key, and that a public key is registered. With an OpenTelemetry endpoint, also send it empty requests. Uses the server's settings. Exits with code 1 if a check fails.",
  operands: "",
  least: 0,
  most: 0,
  settings: {
    ...apiSettings,
    domain: settings.domain,
    idpHost: settings.idpHost,
    httpsListen: settings.httpsListen,
    httpsPort: settings.httpsPort,
    nameServer: settings.nameServer,
    sshListen: settings.sshListen,
    sshHostKey: settings.sshHostKey,
    sshHostCertificate: settings.sshHostCertificate,
    ...acmeSettings,
    ...telemetrySettings,
    json: settings.json,
  },
  examples: ["postern doctor --domain t.example.com --https-port 443"],
  async run({ domain, idpHost, httpsListen, httpsPort, json, ...others }) {
    const access = sliceOf(apiSettings, others);
    const names = { domain, idpHost };
    const port = httpsPort ?? httpsListen.port;
    const own = readPublic(access.data, dataFiles.caCertificate);
    const findings: Finding[] = await checkLoginHost({ host: idpHostOf(names), domain, port, ownCa: own });
    try {
      const api = await openApi(access);
      findings.push(...(await samlUrls(api, idpUrl(names, port))), ...(await checkSsh(others, api)));
    } catch (error) {
      throw apiFailure(error);
    }
    for await (const { isFine, about, message } of testDnsProvider({ ...others, domain }, systemClock)) {
      findings.push({ outcome: isFine ? "fine" : "wrong", about, message });
    }
    findings.push(...(await checkTelemetry(others)));
    printFindings(findings, json);
    return findings.some(({ outcome }) => outcome === "wrong") ? exitCodes.unexpected : exitCodes.fine;
  },
});
