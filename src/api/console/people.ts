/** Permissions of users of the team's identity provider. The rules are evaluated at each request. */
import { Refusal } from "../../lib/errors.ts";
import { Lru } from "../../lib/collections/lru.ts";
import type { Identity } from "../../identity/calls/identity.ts";
import type { ConsoleAccessRule, ConsoleRole } from "../../settings/kinds/console-access.ts";
import type { Store } from "../../storage/store.ts";
import type { Key } from "../http/authenticate.ts";
import { readScopes } from "../operation/scope.ts";

/** What a session stores about a user. */
export type Person = Pick<Identity, "subject" | "email" | "emailVerified" | "name" | "memberships" | "providerSession">;

export interface People {
  /**
   * Returns the user's permissions in the form of an API key. Throws `Refusal` if no rule matches.
   * @param accountId of the current session; undefined for a new login, which gets the account of the first matching
   * rule
   */
  admit(person: Person, accountId?: string): { readonly key: Key; readonly role: ConsoleRole };
  /** Returns the accounts that the user may open, in the order of the rules. */
  accounts(person: Person): readonly { readonly id: string; readonly name: string }[];
}

/** Roles as scopes of a key. No role includes operator rights. */
const scopesOf: Readonly<Record<ConsoleRole, readonly string[]>> = { viewer: ["read"], editor: ["write"], admin: [] };
const order: readonly ConsoleRole[] = ["viewer", "editor", "admin"];
/** Maximum number of users whose rate limits are remembered. */
const maxKept = 10_000;
const noHash = Buffer.alloc(32);

export function makePeople(rules: readonly ConsoleAccessRule[], store: Pick<Store, "accounts">): People {
  const buckets = new Lru<string, Key["bucket"]>(maxKept);
  const fittingFor = (
    person: Person,
  ): readonly { readonly role: ConsoleRole; readonly accountId: string | undefined }[] => {
    const first = store.accounts()[0]?.id;
    return rules
      .filter((rule) => fits(rule, person))
      .map(({ role, accountId: own = first }) => ({ role, accountId: own }))
      .filter((rule) => store.accounts().some(({ id }) => id === rule.accountId));
  };
  return {
    accounts(person) {
      const ids = [...new Set(fittingFor(person).map(({ accountId }) => accountId))];
      return ids.flatMap((id) =>
        store
          .accounts()
          .filter((one) => one.id === id)
          .map(({ name }) => ({ id: id as string, name })),
      );
    },
    admit(person, accountId) {
      const fitting = fittingFor(person);
      const account = accountId ?? fitting[0]?.accountId;
      const roles = fitting.filter((rule) => rule.accountId === account).map(({ role }) => order.indexOf(role));
      const role = order[Math.max(-1, ...roles)];
      if (account === undefined || role === undefined) throw new Refusal("console_person_refused");
      const id = nameOf(person);
      const known = `${account} ${id}`;
      let bucket = buckets.get(known);
      if (!bucket) buckets.set(known, (bucket = { wholeAtMs: 0 }));
      const scope = readScopes(scopesOf[role]);
      const principal = { accountId: account, id, operator: false, ...(scope && { scope }) };
      return { key: { principal, hash: noHash, ownerId: null, bucket, usedAtMs: undefined }, role };
    },
  };
}

/** Name in the history. It never equals the id of a key or `system`. */
function nameOf({ subject, email, emailVerified }: Person): string {
  const who = emailVerified && email !== "" ? email : `subject ${subject}`;
  return `person ${who}`.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 200);
}

/** Email addresses count only if the provider has verified them. All values are compared whole (I5). */
function fits({ by, value }: ConsoleAccessRule, { email, emailVerified, memberships }: Person): boolean {
  if (by === "group") return memberships.includes(value);
  if (!emailVerified || !/^[\x21-\x7e]+$/.test(email)) return false;
  const address = email.toLowerCase();
  return by === "email" ? address === value : address.slice(address.lastIndexOf("@") + 1) === value;
}
