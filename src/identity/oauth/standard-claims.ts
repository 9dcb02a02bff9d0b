import type { JsonObject } from "../../lib/json.ts";
import { textOf } from "../calls/fetch.ts";
import { LoginRefusal, unknownIdentity } from "../calls/identity.ts";
import type { Identity } from "../calls/identity.ts";
import { isSubject } from "../oidc/id-token.ts";

/**
 * Reads an identity from userinfo (OpenID Connect Core §5.1), which must have the id_token's subject if there is one.
 */
export function standardIdentity(info: JsonObject, claims: JsonObject | undefined): Identity {
  const subject = info["sub"];
  if (!isSubject(subject)) throw new LoginRefusal("login_token_invalid", "the provider returned no user");
  if (claims !== undefined && claims["sub"] !== subject) {
    throw new LoginRefusal("login_token_invalid", "the provider's userinfo belongs to another subject");
  }
  const authenticatedAt = claims?.["auth_time"];
  return {
    ...unknownIdentity,
    subject,
    email: textOf(info, "email"),
    emailVerified: info["email_verified"] === true,
    name: textOf(info, "name"),
    username: textOf(info, "preferred_username"),
    providerSession: claims === undefined ? "" : textOf(claims, "sid"),
    authenticatedAt: typeof authenticatedAt === "number" ? authenticatedAt : 0,
  };
}
