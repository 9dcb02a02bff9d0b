/** Decides when an account must prove that it owns a host name, and how (docs/guides/domains.md). */
import { Refusal } from "../../lib/errors.ts";
import { namesAbove, wildcardBase, wildcardsOver } from "../../lib/host-cover.ts";
import { isPublicSuffix } from "../../lib/public-suffix.ts";
import type { SuffixRules } from "../../lib/public-suffix.ts";
import { grantedSpace } from "../../resources/account.ts";
import type { DomainProof } from "../../settings/both-planes.ts";
import type { Reader } from "../../storage/store.ts";

export interface ProofRules {
  /** Base of the server's own names. Names below it need no proof. */
  readonly domain: string;
  readonly domainProof: DomainProof;
  readonly suffixes: SuffixRules;
}

/**
 * Whether the account still must prove the name. A name needs no proof if the operator has granted it or if another
 * name of the account covers it.
 */
export function needsProof(reader: Reader, accountId: string, name: string, rules: ProofRules): boolean {
  const bare = wildcardBase(name) ?? name;
  if (rules.domainProof === "none" || isAtOrBelow(bare, rules.domain)) return false;
  // The account itself belongs to the operator's account, and is found by its granted names.
  const isGranted = (one: string): boolean => reader.holder(accountId, grantedSpace, one)?.id === accountId;
  if ([bare, ...namesAbove(bare)].some(isGranted)) return false;
  return !wildcardsOver(name).some((one) => reader.holder(accountId, "domain", one)?.account_id === accountId);
}

export interface ProofRecord {
  readonly name: string;
  readonly value: string;
}

/**
 * Returns the TXT record that proves `name` for the account. It contains the account, so it proves nothing for other
 * accounts.
 */
export function recordFor(accountId: string, name: string): ProofRecord {
  return { name: recordName(wildcardBase(name) ?? name), value: `postern-account=${accountId}` };
}

/**
 * Returns the possible names of the record: at the name, or at the domain below the public suffix for all its names.
 */
export function recordNames(name: string, { more }: SuffixRules): readonly string[] {
  const bare = wildcardBase(name) ?? name;
  let top = bare;
  for (const above of namesAbove(bare)) {
    // Names above this point belong to the suffix's owners, not to the name's owner.
    if (isPublicSuffix(`*.${above}`, { more, allowed: [] })) break;
    top = above;
  }
  return [...new Set([bare, top])].map(recordName);
}

/** Returns the refusal for an object that needs an unproven name. */
export function refuseUnproven(accountId: string, name: string, { domainProof }: ProofRules): Refusal {
  if (domainProof === "operator") {
    return new Refusal(
      "domain_unproven",
      `domain "${name}" is available only to accounts that the operator has granted it`,
    );
  }
  const record = recordFor(accountId, name);
  const message = `you have not proven that you own domain "${name}": reserve it, and set a TXT record at "${record.name}"`;
  const details = { record_type: "TXT", record_name: record.name, record_value: record.value };
  return new Refusal("domain_unproven", message, details);
}

function recordName(bare: string): string {
  return `_postern-challenge.${bare}`;
}

function isAtOrBelow(name: string, base: string): boolean {
  return name === base || name.endsWith(`.${base}`);
}
