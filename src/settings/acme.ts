/** By whom and how certificates are issued for domains that have a management policy. Read by the control plane. */
import { challengeTypes } from "../acme/challenge-types.ts";
import { certificates } from "./kinds/file.ts";
import { emailAddress, oneOf } from "./kinds/text.ts";
import { httpsUrl } from "./kinds/url.ts";
import { one, optional, toggle } from "./setting.ts";
import type { ValuesOf } from "./setting.ts";

export const acmeSettings = {
  acmeDirectory: one("ACME directory of the authority that issues certificates for domains with a policy.", httpsUrl, {
    default: "https://acme-v02.api.letsencrypt.org/directory",
  }),
  acmeCa: optional(
    "PEM file with the CA that the ACME directory's server must be certified by (default: the system's).",
    certificates,
  ),
  acmeEmail: optional("Address that the authority may write to.", emailAddress),
  acmeAgree: toggle("Agree to the authority's terms of service; without it no certificate is asked for."),
  acmeChallenge: optional("Use only this challenge.", oneOf(challengeTypes), { shownDefault: "each that works" }),
} as const;

export type AcmeSettings = ValuesOf<typeof acmeSettings>;
