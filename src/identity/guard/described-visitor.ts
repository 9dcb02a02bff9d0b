/** Dry runs as somebody: with the session that they have here, or as if they had just logged in. */
import type { DescribedVisitor } from "../../traffic/login.ts";
import { nobody } from "../calls/identity.ts";
import type { Identity } from "../calls/identity.ts";
import { teamNamed } from "../calls/memberships.ts";
import type { LoginContext } from "./context.ts";
import type { Session } from "../sessions/session.ts";

/** What a provider would say of them. */
export function describedIdentity({ email, emailVerified, id, name, groups }: DescribedVisitor): Identity {
  return {
    ...nobody,
    subject: id,
    email,
    emailVerified,
    name,
    // SAML compares letter by letter, the others without regard to case. A number is a team's.
    memberships: [...new Set(groups.flatMap((one) => [one, teamNamed(one)]))],
    managedDomain: email.slice(email.lastIndexOf("@") + 1),
  };
}

/** Their session in a realm at a host, the one that was used last. */
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
