/**
 * Decides which host names an account may use. It excludes the server's own names, public suffixes and names of other
 * accounts.
 */
import { Refusal } from "../../lib/errors.ts";
import { wildcardBase, wildcardsOver } from "../../lib/host-cover.ts";
import { isPublicSuffix } from "../../lib/public-suffix.ts";
import { isServerName } from "../../lib/server-names.ts";
import type { ServerNames } from "../../lib/server-names.ts";
import { needsProof, refuseUnproven } from "../domain-proof/proof-rules.ts";
import type { ProofRules } from "../domain-proof/proof-rules.ts";
import type { Draft } from "../../storage/store.ts";
import type { LiveObjects } from "../edges/live-objects.ts";
import { atField } from "../objects/at-field.ts";
import type { Preparation } from "../objects/behaviour.ts";

export interface NameRules extends ProofRules, ServerNames {
  /** Names that agents serve. */
  readonly liveObjects: Pick<LiveObjects, "hasForeignHost">;
}

/** As `NameRules`, for names that are reserved with the first object that uses them. */
export interface ClaimRules extends NameRules {
  /** Whether a name must be reserved explicitly first. */
  readonly requireReservation: boolean;
  readonly liveObjects: Pick<LiveObjects, "hasForeignHost" | "holderOfHostport">;
}

/** The object that claims a name or address. Keys that may see the object may see its reservation. */
export type Claimant = Pick<Preparation<{ readonly metadata: string }>, "draft" | "accountId" | "principal" | "doc">;

/** Runs `claim` for the new hostports of an edge. A refusal names the hostport's field. */
export function claimNewHostports(
  { doc, previous }: Pick<Preparation<Hostports>, "doc" | "previous">,
  claim: (hostport: string) => void,
): void {
  const before = new Set(previous?.doc.hostports);
  for (const [index, hostport] of doc.hostports.entries()) {
    if (!before.has(hostport)) atField(`hostports[${index}]`, () => claim(hostport));
  }
}

interface Hostports {
  readonly hostports: readonly string[];
}

/**
 * Throws `domain_held` or `domain_public` for a name that the account cannot use.
 * @param name lower case
 */
export function checkName(draft: Draft, accountId: string, name: string, rules: NameRules): void {
  checkNotReservedForAll(name, rules);
  checkNotTaken(draft, accountId, name, rules);
}

/** As `checkName`, for the host of a TCP address. Below the server's own domain, each port is a separate address. */
export function checkAddressHost(draft: Draft, accountId: string, name: string, rules: NameRules): void {
  if (name === rules.domain) return;
  checkName(draft, accountId, name, rules);
  const isHeld = draft.holder(accountId, "domain", name)?.account_id === accountId;
  if (!isHeld && needsProof(draft, accountId, name, rules)) throw refuseUnproven(accountId, name, rules);
}

export function checkNotReservedForAll(name: string, { domain, idpHost, suffixes }: NameRules): void {
  if (isServerName(name, { domain, idpHost })) {
    const below = wildcardBase(name) === domain ? ": the server generates names for all accounts below it" : "";
    throw new Refusal("domain_held", `domain "${name}" belongs to the server${below}`);
  }
  if (isPublicSuffix(name, suffixes)) {
    throw new Refusal("domain_public", `domain "${name}" is a public suffix: many owners have names below it`);
  }
}

/** Storage rejects names of other accounts too. This check has better messages and includes agents' names (R5). */
function checkNotTaken(draft: Draft, accountId: string, name: string, { liveObjects }: NameRules): void {
  for (const candidate of [name, ...wildcardsOver(name)]) {
    const holder = draft.holder(accountId, "domain", candidate);
    if (!holder || holder.account_id === accountId) continue;
    const by = name === candidate ? "" : ` by "${candidate}"`;
    throw new Refusal("domain_held", `domain "${name}" is reserved${by} in another account`);
  }
  if (!liveObjects.hasForeignHost(name, accountId)) return;
  throw new Refusal("domain_held", `an online agent of another account uses domain "${name}"`);
}
