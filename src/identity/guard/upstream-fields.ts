/** Header fields that describe the visitor to the service behind a route. */
import { wholeFieldText } from "../../traffic/tls-certificates.ts";
import type { Identity } from "../calls/identity.ts";
import type { Tokens } from "../calls/provider-connection.ts";
import { isTeam, nameOfMembership } from "../calls/memberships.ts";
import type { Lists } from "../sessions/login-verdict.ts";

/** Alternating names and values. An absent value becomes an absent field. @param tokens forwarded tokens, if any */
export function upstreamFields(
  lists: Lists,
  identity: Identity,
  tokens: Pick<Tokens, "access" | "refresh"> | undefined,
): readonly string[] {
  const fields: string[] = [];
  const add = (name: string, value: string): void => {
    if (value !== "") fields.push(name, value);
  };
  add("ngrok-auth-user-id", wholeFieldText(identity.subject));
  add("ngrok-auth-user-name", wholeFieldText(identity.name));
  add("ngrok-auth-user-email", wholeFieldText(identity.email));
  if (tokens) {
    // Tokens were validated as visible ASCII when they arrived. A "%" in them comes from the provider.
    add("ngrok-auth-oauth-access-token", tokens.access);
    add("ngrok-auth-oauth-refresh-token", tokens.refresh);
  }
  const groups = groupsNamed(lists, identity).map((one) => wholeFieldText(one, ","));
  add("postern-auth-groups", groups.join(","));
  return fields;
}

/** The visitor's memberships that the lists mention. */
export function groupsNamed({ teams, organizations, groups }: Lists, { memberships }: Identity): readonly string[] {
  if (teams.size + organizations.size + groups.size === 0) return [];
  if (groups.size > 0) return memberships.filter((one) => groups.has(one));
  return memberships.filter((one) => (isTeam(one) ? teams : organizations).has(one)).map(nameOfMembership);
}
