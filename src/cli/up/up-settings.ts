import { hostName, ipAddress, listenAddress, listenAddressOrOff, nameServer } from "../../settings/kinds/address.ts";
import { directory } from "../../settings/kinds/file.ts";
import { emailAddress, namedText } from "../../settings/kinds/text.ts";
import { acmeSettings } from "../../settings/acme.ts";
import { flagOnly, many, one, optional, toggle } from "../../settings/setting.ts";
import type { ValuesOf } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";

export const upSettings = {
  domain: optional("Domain of the server, whose names point to this machine. Required.", hostName),
  email: flagOnly(
    optional(
      "E-mail address for the certificate authority. Setting it accepts the authority's terms of service. Required.",
      emailAddress,
    ),
  ),
  idpHost: settings.idpHost,
  address: flagOnly(
    many("Public address of this machine, if a router or cloud network translates it; repeatable.", ipAddress),
  ),
  data: one("Directory for all data.", directory, { default: "/var/lib/postern" }),
  file: flagOnly(one("Configuration file to write.", namedText("FILE"), { default: "/etc/postern/postern.yaml" })),
  httpsListen: one("Address for public HTTPS and TLS traffic.", listenAddress, { default: ":443" }),
  httpsPort: settings.httpsPort,
  httpListen: one("Address for plain HTTP, which is redirected to HTTPS.", listenAddressOrOff, { default: ":80" }),
  agentListen: settings.agentListen,
  apiListen: settings.apiListen,
  acmeDirectory: acmeSettings.acmeDirectory,
  acmeCa: optional(
    "PEM file with the CA that signs the certificate of the ACME directory's server (default: the system's CAs).",
    namedText("FILE"),
  ),
  nameServer: many("Name server for the DNS checks and the server; repeatable. Default: the system's.", nameServer),
  check: flagOnly(toggle("Only check, and change nothing. Exits with 1 if a check fails.")),
  wait: flagOnly(toggle("Wait until the DNS records exist.")),
  foreground: flagOnly(toggle("Run the server in this terminal instead of installing a service.")),
  force: flagOnly(toggle("Replace a configuration file with other settings.")),
  json: settings.json,
} as const;

export type UpValues = ValuesOf<typeof upSettings>;
