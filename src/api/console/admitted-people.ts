/**
 * Permissions of users of the team's identity provider: those of the operator's rules, and of accepted invitations.
 * Both are evaluated at each request.
 */
import { hash } from "node:crypto";
import { Refusal } from "../../lib/errors.ts";
import { Lru } from "../../lib/collections/lru.ts";
import type { Identity } from "../../identity/calls/identity.ts";
import { person as stored, personSubjectSpace } from "../../resources/person.ts";
import type { Role } from "../../resources/person.ts";
import { docOf } from "../../schema/doc.ts";
import type { ConsoleAccessRule } from "../../settings/kinds/console-access.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import type { Key } from "../http/authenticate.ts";
import { highestRole, historyName, keyOfRole } from "./roles.ts";

/** What a session stores about a user. */
export type Person = Pick<Identity, "subject" | "email" | "emailVerified" | "name" | "memberships" | "providerSession">;

export interface People {
  /**
   * Returns the user's permissions in the form of an API key. Throws `Refusal` if no rule matches.
   * @param accountId of the current session; undefined for a new login, which gets the account of the first matching
   * rule
   */
  admit(person: Person, accountId?: string): Admitted;
  /** Returns the subject under which an invited person is stored. */
  subjectOf(person: Person): string;
  /** Returns the accounts that the user may open, in the order of the rules. */
  accounts(person: Person): readonly { readonly id: string; readonly name: string }[];
}

export interface Admitted {
  readonly key: Key;
  readonly role: Role;
  /** The invited person, unless only rules admit the user. */
  readonly personId: string | undefined;
}

/** Maximum number of users whose rate limits are remembered. */
const maxKept = 10_000;

/** @param issuer of the identity provider, without which a subject means nothing */
export function makePeople(
  rules: readonly ConsoleAccessRule[],
  store: Pick<Store, "accounts" | "holder">,
  issuer: string,
): People {
  const buckets = new Lru<string, Key["bucket"]>(maxKept);
  const subjectOf = ({ subject }: Person): string => hash("sha256", `${issuer}\n${subject}`);
  const invitedTo = (accountId: string, subject: string): StoredObject | undefined => {
    const found = store.holder(accountId, personSubjectSpace, subject);
    return found && docOf(found, stored).active ? found : undefined;
  };
  /** What admits the user, rules first. */
  const fittingFor = (person: Person): readonly { readonly role: Role; readonly accountId: string }[] => {
    const accounts = store.accounts().map(({ id }) => id);
    const byRule = rules
      .filter((rule) => matchesRule(rule, person))
      .map(({ role, accountId = accounts[0] ?? "" }) => ({ role, accountId }))
      .filter(({ accountId }) => accounts.includes(accountId));
    const subject = subjectOf(person);
    const invited = accounts.flatMap((accountId) => {
      const found = invitedTo(accountId, subject);
      return found ? [{ role: docOf(found, stored).role, accountId }] : [];
    });
    return [...byRule, ...invited];
  };
  return {
    subjectOf,
    accounts(person) {
      const ids = new Set(fittingFor(person).map(({ accountId }) => accountId));
      return Array.from(ids, (id) => ({ id, name: store.accounts().find((one) => one.id === id)?.name ?? "" }));
    },
    admit(person, accountId) {
      const fitting = fittingFor(person);
      const account = accountId ?? fitting[0]?.accountId;
      const role = highestRole(fitting.filter((one) => one.accountId === account).map((one) => one.role));
      if (account === undefined || role === undefined) throw new Refusal("console_person_refused");
      const id = nameOf(person);
      const known = `${account} ${id}`;
      let bucket = buckets.get(known);
      if (!bucket) buckets.set(known, (bucket = { wholeAtMs: 0 }));
      const personId = invitedTo(account, subjectOf(person))?.id;
      return { key: keyOfRole(account, id, role, bucket), role, personId };
    },
  };
}

function nameOf({ subject, email, emailVerified }: Person): string {
  return historyName(emailVerified && email !== "" ? email : `subject ${subject}`);
}

/** Email addresses count only if the provider has verified them. All values are compared whole (I5). */
function matchesRule({ by, value }: ConsoleAccessRule, { email, emailVerified, memberships }: Person): boolean {
  if (by === "group") return memberships.includes(value);
  if (!emailVerified || !/^[\x21-\x7e]+$/.test(email)) return false;
  const address = email.toLowerCase();
  return by === "email" ? address === value : address.slice(address.lastIndexOf("@") + 1) === value;
}
