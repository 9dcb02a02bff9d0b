import { challengeTypes } from "../../acme/challenge-types.ts";
import type { ChallengeType } from "../../acme/challenge-types.ts";

/** By whom and how certificates are issued for domains that have a management policy. */
export interface AcmeSettings {
  /** The authority's ACME directory, https. */
  readonly directoryUrl: string;
  /** Authorities that the directory's server must be certified by, PEM; the system's unless given. */
  readonly ca?: string | undefined;
  /** Where the authority may write to. */
  readonly email?: string | undefined;
  /** The operator has agreed to the authority's terms; without that it is never asked for anything. */
  readonly agreed: boolean;
  /** Challenges that edges can be asked for from outside, the first one to try first. */
  readonly challenges: readonly ChallengeType[];
}

export const defaultAcmeSettings: AcmeSettings = {
  directoryUrl: "https://acme-v02.api.letsencrypt.org/directory",
  agreed: false,
  challenges: challengeTypes,
};
