/** Dry runs as a described visitor: with that visitor's present session, or as after a new login. */
import type { DescribedVisitor } from "../../traffic/visitor.ts";
import { unknownIdentity } from "../calls/identity.ts";
import type { Identity } from "../calls/identity.ts";
import { teamNamed } from "../calls/memberships.ts";
import type { LoginContext } from "./login-context.ts";
import type { Session } from "../sessions/login-session.ts";

/** The identity that a provider would return. */
export function makeIdentity({ email, emailVerified, id, name, groups }: DescribedVisitor): Identity {
  return {
    ...unknownIdentity,
    subject: id,
    email,
    emailVerified,
    name,
    // SAML compares groups exactly, the other methods ignore case. A number is a team's id.
    memberships: [...new Set(groups.flatMap((one) => [one, teamNamed(one)]))],
    managedDomain: email.slice(email.lastIndexOf("@") + 1),
  };
}

/** The visitor's most recently used session in a realm at a host. */
export function sessionOfVisitor(
  { email }: DescribedVisitor,
  place: { readonly accountId: string; readonly realm: string; readonly host: string },
  { sessions }: LoginContext,
): Session | undefined {
  let found: Session | undefined;
  for (const session of sessions.ofEmail(email)) {
    const { accountId, realm, host } = session.record;
    if (accountId !== place.accountId || realm !== place.realm || host !== place.host) continue;
    if (!found || session.lastActive > found.lastActive) found = session;
  }
  return found;
}
