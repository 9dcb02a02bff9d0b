/** Which host names an account may take: not the server's own, none that are everybody's, none that others have. */
import { Refusal } from "../../lib/errors.ts";
import { wildcardBase, wildcardsOver } from "../../lib/host-cover.ts";
import { isPublicSuffix } from "../../lib/public-suffix.ts";
import { isServerName } from "../../lib/server-names.ts";
import { needsProof, unproven } from "../domain-proof/rules.ts";
import type { Draft } from "../../storage/store.ts";
import type { Surroundings } from "../objects/behaviour.ts";

type Rules = Pick<Surroundings, "domain" | "suffixes" | "domainProof" | "liveObjects">;

/** Throws `domain_held` or `domain_public` for a name that the account cannot take. @param name lower case */
export function checkName(draft: Draft, accountId: string, name: string, rules: Rules): void {
  checkNotReservedForAll(name, rules);
  checkNotTaken(draft, accountId, name, rules);
}

/** As `checkName`, for the host of a TCP address: below the server's own domain every port is an address of its own. */
export function checkAddressHost(draft: Draft, accountId: string, name: string, rules: Rules): void {
  if (name === rules.domain) return;
  checkName(draft, accountId, name, rules);
  const isHeld = draft.holder(accountId, "domain", name)?.account_id === accountId;
  if (!isHeld && needsProof(draft, accountId, name, rules)) throw unproven(accountId, name, rules);
}

export function checkNotReservedForAll(name: string, { domain, suffixes }: Rules): void {
  if (isServerName(name, domain)) {
    const below = wildcardBase(name) === domain ? ": names for all accounts are made below it" : "";
    throw new Refusal("domain_held", `domain "${name}" belongs to the server${below}`);
  }
  if (isPublicSuffix(name, suffixes)) {
    throw new Refusal("domain_public", `domain "${name}" is a public suffix: names below it are of many owners`);
  }
}

/** Storage refuses as well what other accounts have reserved; here are the words, and the agents' names (R5). */
function checkNotTaken(draft: Draft, accountId: string, name: string, { liveObjects }: Rules): void {
  for (const candidate of [name, ...wildcardsOver(name)]) {
    const holder = draft.holder(accountId, "domain", candidate);
    if (!holder || holder.account_id === accountId) continue;
    const by = name === candidate ? "" : ` by "${candidate}"`;
    throw new Refusal("domain_held", `domain "${name}" is reserved${by} in another account`);
  }
  if (!liveObjects.hasForeignHost(name, accountId)) return;
  throw new Refusal("domain_held", `domain "${name}" is used by an agent of another account that is online`);
}
