/**
 * Which certificate authority issues certificates for domains with a management policy, and how. Read by the control
 * plane.
 */
import { challengeTypes } from "../acme/challenge-types.ts";
import { certificates } from "./kinds/file.ts";
import { emailAddress, oneOf } from "./kinds/text.ts";
import { httpsUrl } from "./kinds/url.ts";
import { one, optional, toggle } from "./setting.ts";
import type { ValuesOf } from "./setting.ts";

export const acmeSettings = {
  acmeDirectory: one(
    "ACME directory of the certificate authority. Domains with a certificate policy get certificates from this authority.",
    httpsUrl,
    {
      default: "https://acme-v02.api.letsencrypt.org/directory",
    },
  ),
  acmeCa: optional(
    "PEM file with the CA that signs the certificate of the ACME directory's server (default: the system's CAs).",
    certificates,
  ),
  acmeEmail: optional("E-mail address for messages from the certificate authority.", emailAddress),
  acmeAgree: toggle(
    "Accept the certificate authority's terms of service. Without this setting, the server requests no certificates.",
  ),
  acmeChallenge: optional("Use only this challenge type.", oneOf(challengeTypes), {
    shownDefault: "every type that works",
  }),
} as const;

export type AcmeSettings = ValuesOf<typeof acmeSettings>;
