/** Roles of people as permissions of an API key. */
import { Refusal } from "../../lib/errors.ts";
import { roles } from "../../resources/person.ts";
import type { Role } from "../../resources/person.ts";
import type { Key } from "../http/authenticate.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import type { ApiPrincipal } from "../operation/call.ts";
import { isWithin, readScopes } from "../operation/scope.ts";

/** Scopes of a key with the same permissions; empty: no limit. */
export const scopesOf: Readonly<Record<Role, readonly string[]>> = {
  viewer: ["read"],
  editor: ["write"],
  admin: [],
  operator: [],
};

const noHash = Buffer.alloc(32);

/** @param id name of the person in the history, see `historyName` */
export function keyOfRole(accountId: string, id: string, role: Role, bucket: Key["bucket"]): Key {
  const scope = readScopes(scopesOf[role]);
  const principal = { accountId, id, operator: role === "operator", ...(scope && { scope }) };
  return { principal, hash: noHash, ownerId: null, bucket };
}

/** Returns the role with the most permissions. */
export function highestRole(held: readonly Role[]): Role | undefined {
  return roles.findLast((role) => held.includes(role));
}

/** Returns a person's name in the history. It never equals the id of a key or `system`. */
export function historyName(who: string): string {
  return `person ${who}`.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 200);
}

/**
 * Throws `Refusal` if the caller may not give the role to a person, or decide about a person who has it. A person's
 * access does not expire, so keys that expire give none.
 */
export function checkMayGive(
  what: string,
  role: Role,
  { operator, scope, expiresAtMs }: Pick<ApiPrincipal, "operator" | "scope" | "expiresAtMs">,
): void {
  if (role === "operator" && !operator) {
    throw new Refusal("operator_only", "only operators can invite or change operators");
  }
  if (!isWithin(readScopes(scopesOf[role]), scope)) {
    const message = `${what}: the API key is limited: it cannot give or change the role "${role}"`;
    throw new Refusal("scope_missing", message, { scope: "*" });
  }
  if (expiresAtMs === undefined) return;
  const message = "must come from a key that never expires, because the access of people does not expire";
  throw inputRefusal(what, [{ path: "role", message }]);
}
