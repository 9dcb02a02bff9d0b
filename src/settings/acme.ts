/**
 * Which certificate authority issues certificates for domains with a management policy, and how. Read by the control
 * plane.
 */
import { challengeTypes } from "../acme/challenge-types.ts";
import { dnsProviderNames, tsigAlgorithms } from "../acme/dns/provider-names.ts";
import { hostAndPort, hostName, nameServer } from "./kinds/address.ts";
import { certificates, file } from "./kinds/file.ts";
import { countKind } from "./kinds/number.ts";
import { base64url, emailAddress, oneOf, visibleKind } from "./kinds/text.ts";
import { httpsUrl } from "./kinds/url.ts";
import { many, one, optional, toggle } from "./setting.ts";
import type { ValuesOf } from "./setting.ts";

const needs = "acmeDnsProvider";

/** How the server answers `dns-01`. */
const acmeDnsSettings = {
  acmeDnsProvider: optional(
    "DNS provider in which the server sets the records of DNS checks (dns-01). They work without open ports and for wildcards.",
    oneOf(dnsProviderNames),
    { shownDefault: "no DNS checks" },
  ),
  acmeDnsZone: many(
    "Name at or below which the server may set records for DNS checks; repeatable. By default the server's domain.",
    hostName,
    { needs },
  ),
  acmeDnsServer: optional("Primary name server of the zone, for rfc2136.", hostAndPort, { needs }),
  acmeDnsUrl: optional("Base URL of the DNS provider's API; required for acme-dns and webhook.", httpsUrl, {
    shownDefault: "the provider's own",
    needs,
  }),
  acmeDnsCa: optional(
    "PEM file with the CA that signs the certificate of the DNS provider's API (default: the system's CAs).",
    certificates,
    { needs },
  ),
  acmeDnsKey: optional(
    "Name of the TSIG key (rfc2136), id of the access key (route53), or user (acme-dns).",
    visibleKind("NAME"),
    { needs },
  ),
  acmeDnsSecret: optional(
    "The DNS provider's secret: API token, secret of the key (rfc2136: in base 64), or password.",
    visibleKind("SECRET"),
    { secret: true, needs },
  ),
  acmeDnsAlgorithm: optional("Algorithm of the TSIG key, for rfc2136.", oneOf(tsigAlgorithms), {
    shownDefault: "hmac-sha256",
    needs,
  }),
  acmeDnsProgram: optional("Program that sets and removes records, for exec.", file, { needs }),
  acmeDnsResolver: many(
    "Name server for DNS checks; repeatable. All of them must have a new record before the authority checks it. By default the system's name servers answer questions, and the zone's authoritative ones must have the record.",
    nameServer,
    { needs },
  ),
  acmeDnsTimeout: one("Maximum wait until all name servers have a new record.", countKind("SECONDS", 5, 3_600), {
    default: 180,
  }),
} as const;

export const acmeSettings = {
  acmeDirectory: one(
    "ACME directory of the certificate authority. Domains with a certificate policy get certificates from this authority.",
    httpsUrl,
    {
      default: "https://acme-v02.api.letsencrypt.org/directory",
    },
  ),
  acmeFallbackDirectory: many(
    "ACME directory of another certificate authority, which is asked if the earlier ones do not answer or limit requests; repeatable. --acme-agree accepts its terms too.",
    httpsUrl,
  ),
  acmeCa: optional(
    "PEM file with the CAs that sign the certificates of the ACME directories' servers (default: the system's CAs).",
    certificates,
  ),
  acmeEmail: optional("E-mail address for messages from the certificate authority.", emailAddress),
  acmeEabKey: optional(
    "Id of the external account, for authorities that require one (external account binding).",
    visibleKind("ID"),
    { needs: "acmeEabSecret" },
  ),
  acmeEabSecret: optional("HMAC key of the external account, in base64url.", base64url, {
    secret: true,
    needs: "acmeEabKey",
  }),
  acmeAgree: toggle(
    "Accept the certificate authority's terms of service. Without this setting, the server requests no certificates.",
  ),
  acmeChallenge: optional("Use only this challenge type.", oneOf(challengeTypes), {
    shownDefault: "every type that works",
  }),
  ...acmeDnsSettings,
} as const;

export type AcmeSettings = ValuesOf<typeof acmeSettings>;
