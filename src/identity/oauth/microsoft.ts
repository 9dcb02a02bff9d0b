import { textOf } from "../calls/fetch.ts";
import { LoginRefusal, unknownIdentity } from "../calls/identity.ts";
import type { OAuthProvider } from "./oauth-provider.ts";

const login = "https://login.microsoftonline.com";
/** The tenant of personal accounts, whose addresses Microsoft has verified. */
const personal = "9188040d-6c67-4c5b-b112-36a304b66dad";

/**
 * Any tenant can write any address into `email`. It counts only for personal accounts and with `xms_edov`, which states
 * that the tenant has verified the domain. `preferred_username` never decides.
 */
export const microsoft: OAuthProvider = {
  name: "microsoft",
  title: "Microsoft",
  url: login,
  authorizeUrl: `${login}/common/oauth2/v2.0/authorize`,
  tokenUrl: `${login}/common/oauth2/v2.0/token`,
  scopes: ({ refreshes }) => ["openid", "profile", "email", "User.Read", ...(refreshes ? ["offline_access"] : [])],
  pkce: true,
  openid: {
    issuer: {
      // The issuer of `common` is a template that must match the token's tenant.
      of: (claims) => `${login}/${tenantOf(textOf(claims, "tid"))}/v2.0`,
      // Codes of every tenant are redeemed at the same endpoint, and its metadata contain the template.
      form: /^https:\/\/login\.microsoftonline\.com\/(?:[0-9a-f-]{36}|common|\{tenantid\})\/v2\.0$/,
    },
    keysUrl: `${login}/common/discovery/v2.0/keys`,
    algorithms: ["RS256"],
  },
  refreshes: true,
  async identity({ get, claims }) {
    const { json } = await get("https://graph.microsoft.com/v1.0/me");
    if (claims === undefined) throw new LoginRefusal("login_token_invalid", "Microsoft returned no id_token");
    const subject = textOf(claims, "oid");
    if (subject === "" || textOf(json, "id").toLowerCase() !== subject.toLowerCase()) {
      // For personal accounts the same number has a different form there.
      const digits = subject.replaceAll("-", "").replace(/^0+/, "").toLowerCase();
      if (digits === "" || textOf(json, "id").toLowerCase().replace(/^0+/, "") !== digits) {
        throw new LoginRefusal("login_token_invalid", "Microsoft's Graph returned another user than the id_token");
      }
    }
    const isProven = [true, "true", 1, "1"].includes(claims["xms_edov"] as never);
    const authenticatedAt = claims["auth_time"];
    return {
      ...unknownIdentity,
      subject,
      name: textOf(claims, "name") || textOf(json, "displayName"),
      username: textOf(claims, "preferred_username"),
      email: textOf(claims, "email"),
      emailVerified: isProven || textOf(claims, "tid") === personal,
      providerSession: textOf(claims, "sid"),
      authenticatedAt: typeof authenticatedAt === "number" ? authenticatedAt : 0,
    };
  },
};

function tenantOf(text: string): string {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text) ? text : "no tenant";
}
