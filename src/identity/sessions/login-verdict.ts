/** Decides whether a visitor is on a route's lists (security I5). A missing claim never matches. */
import type { Identity } from "../calls/identity.ts";
import { isTeam, nameOfMembership } from "../calls/memberships.ts";

export interface Lists {
  readonly emailAddresses: ReadonlySet<string>;
  readonly emailDomains: ReadonlySet<string>;
  /** In a form that no organization can have: see `memberships.ts`. */
  readonly teams: ReadonlySet<string>;
  readonly organizations: ReadonlySet<string>;
  /** Groups of a SAML provider, compared exactly. */
  readonly groups: ReadonlySet<string>;
  /** Whether domains count only if the provider manages the address for them (Google). */
  readonly managedDomains: boolean;
}

export interface Verdict {
  readonly admits: boolean;
  /** For the trace: the rule and the claim. */
  readonly reason: string;
  /** The visitor's error if the verdict is negative. */
  readonly errorName?: "login_not_listed" | "login_email_unverified" | "login_no_email" | "saml_group";
}

export const everybody: Lists = Object.freeze({
  emailAddresses: new Set<string>(),
  emailDomains: new Set<string>(),
  teams: new Set<string>(),
  organizations: new Set<string>(),
  groups: new Set<string>(),
  managedDomains: false,
});

/** A match in any list admits. Without lists, every logged-in visitor is admitted. */
export function judgeIdentity(lists: Lists, identity: Identity): Verdict {
  const { emailAddresses, emailDomains, teams, organizations, groups } = lists;
  if (groups.size > 0) return judgeGroups(groups, identity);
  const wantsEmail = emailAddresses.size > 0 || emailDomains.size > 0;
  if (!wantsEmail && teams.size === 0 && organizations.size === 0) {
    return { admits: true, reason: "everyone who has logged in has access" };
  }
  for (const membership of identity.memberships) {
    const [kind, list] = isTeam(membership) ? (["team", teams] as const) : (["organization", organizations] as const);
    if (list.has(membership)) {
      return { admits: true, reason: `a member of the ${kind} "${nameOfMembership(membership)}"` };
    }
  }
  if (!wantsEmail)
    return { admits: false, reason: "not in a listed team or organization", errorName: "login_not_listed" };
  const email = plainEmail(identity.email);
  const byName = email !== undefined && emailAddresses.has(email);
  const domain = email?.slice(email.indexOf("@") + 1) ?? "";
  const byDomain = email !== undefined && emailDomains.has(domain);
  if (identity.email === "")
    return { admits: false, reason: "the provider returned no e-mail address", errorName: "login_no_email" };
  if (!identity.emailVerified) {
    return {
      admits: false,
      reason: "the provider has not verified the e-mail address",
      errorName: "login_email_unverified",
    };
  }
  if (byName) return { admits: true, reason: "the e-mail address is listed" };
  if (
    byDomain &&
    (!lists.managedDomains || domain === "gmail.com" || identity.managedDomain.toLowerCase() === domain)
  ) {
    return { admits: true, reason: `the e-mail domain "${domain}" is listed` };
  }
  const why = byDomain ? `the address is not managed by "${domain}"` : "not on a list";
  return { admits: false, reason: why, errorName: "login_not_listed" };
}

/** A route that lists groups has no other list. */
function judgeGroups(groups: ReadonlySet<string>, { memberships }: Identity): Verdict {
  const found = memberships.find((one) => groups.has(one));
  return found === undefined
    ? { admits: false, reason: "not in a listed group", errorName: "saml_group" }
    : { admits: true, reason: `in the group "${found}"` };
}

/** Lower case; undefined unless the address is ASCII with one "@". */
export function plainEmail(email: string): string | undefined {
  return /^[\x21-\x3f\x41-\x7e]+@[\x21-\x3f\x41-\x7e]+$/.test(email) ? email.toLowerCase() : undefined;
}
