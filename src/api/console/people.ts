/** Who came by the team's identity provider, and what they may do: by rules that are asked at each request. */
import { Refusal } from "../../lib/errors.ts";
import { Lru } from "../../lib/collections/lru.ts";
import type { Identity } from "../../identity/calls/identity.ts";
import type { ConsoleAccessRule, ConsoleRole } from "../../settings/kinds/console-access.ts";
import type { Store } from "../../storage/store.ts";
import type { Key } from "../http/authenticate.ts";
import { readScopes } from "../operation/scope.ts";

/** What is kept of somebody with their session. */
export type Person = Pick<Identity, "subject" | "email" | "emailVerified" | "name" | "memberships" | "providerSession">;

export interface People {
  /**
   * What somebody may do, as if they had an API key. Throws `Refusal` for whom no rule admits.
   * @param accountId of the session that they have; undefined for who is just coming: the account of the first rule
   */
  admit(person: Person, accountId?: string): { readonly key: Key; readonly role: ConsoleRole };
  /** Accounts that somebody may be in, in the order of the rules. */
  accounts(person: Person): readonly { readonly id: string; readonly name: string }[];
}

/** As scopes of a key; nobody is an operator by a role. */
const scopesOf: Readonly<Record<ConsoleRole, readonly string[]>> = { viewer: ["read"], editor: ["write"], admin: [] };
const order: readonly ConsoleRole[] = ["viewer", "editor", "admin"];
/** Whose rates are kept. */
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

/** In the history: never like the id of a key, nor `system`. */
function nameOf({ subject, email, emailVerified }: Person): string {
  const who = emailVerified && email !== "" ? email : `subject ${subject}`;
  return `person ${who}`.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 200);
}

/** Addresses count only where the provider vouches for them; all are compared whole (I5). */
function fits({ by, value }: ConsoleAccessRule, { email, emailVerified, memberships }: Person): boolean {
  if (by === "group") return memberships.includes(value);
  if (!emailVerified || !/^[\x21-\x7e]+$/.test(email)) return false;
  const address = email.toLowerCase();
  return by === "email" ? address === value : address.slice(address.lastIndexOf("@") + 1) === value;
}
