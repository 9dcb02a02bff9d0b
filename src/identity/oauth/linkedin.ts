import type { OAuthProvider } from "./oauth-provider.ts";
import { standardIdentity } from "./standard-claims.ts";

/** Web apps have neither PKCE nor nonce, so only the state binds a login to its browser. */
export const linkedin: OAuthProvider = {
  name: "linkedin",
  title: "LinkedIn",
  url: "https://www.linkedin.com",
  authorizeUrl: "https://www.linkedin.com/oauth/v2/authorization",
  tokenUrl: "https://www.linkedin.com/oauth/v2/accessToken",
  scopes: () => ["openid", "profile", "email"],
  pkce: false,
  refreshes: false,
  async identity({ get }) {
    const { json } = await get("https://api.linkedin.com/v2/userinfo");
    return standardIdentity(json, undefined);
  },
};
