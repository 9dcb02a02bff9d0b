/** Roles of people, from the least to the most, each with its permissions in one line. */
import type { Person } from "../../../../sdk/src/index.ts";
import { session } from "../api.ts";

export type Role = Person["role"];

export const roles: readonly (readonly [role: Role, doc: string])[] = [
  ["viewer", "Sees everything except secrets, and changes nothing."],
  ["editor", "Also publishes, protects and changes services."],
  ["admin", "Also sees secrets, and manages keys and people."],
  ["operator", "Also manages the accounts of this server."],
];

/** Returns the roles that the present user may give. */
export function assignableRoles(): typeof roles {
  const { operator = false, scopes = [] } = session.value?.api_key ?? {};
  if (operator) return roles;
  if (scopes.length === 0) return roles.slice(0, 3);
  return scopes.includes("write") && !scopes.some((scope) => scope.includes(":")) ? roles.slice(0, 2) : [];
}
