import { textOf } from "../calls/fetch.ts";
import type { OAuthProvider } from "./oauth-provider.ts";
import { standardIdentity } from "./standard-claims.ts";

/**
 * An address outside of `hd` may have changed its owner since it was verified, so domain lists require `hd` or
 * gmail.com.
 */
export const google: OAuthProvider = {
  name: "google",
  title: "Google",
  url: "https://accounts.google.com",
  authorizeUrl: "https://accounts.google.com/o/oauth2/v2/auth",
  tokenUrl: "https://oauth2.googleapis.com/token",
  scopes: () => ["openid", "email", "profile"],
  pkce: true,
  openid: {
    issuer: "https://accounts.google.com",
    keysUrl: "https://www.googleapis.com/oauth2/v3/certs",
    algorithms: ["RS256"],
  },
  // Refresh tokens are returned only if both parameters are sent.
  parameters: (refreshes) => (refreshes ? { access_type: "offline", prompt: "consent" } : {}),
  refreshes: true,
  managedDomains: true,
  async identity({ get, claims }) {
    const { json } = await get("https://openidconnect.googleapis.com/v1/userinfo");
    const signed = claims === undefined ? "" : textOf(claims, "hd");
    return { ...standardIdentity(json, claims), managedDomain: signed || textOf(json, "hd") };
  },
};
