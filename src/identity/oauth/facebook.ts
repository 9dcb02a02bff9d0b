import { createHmac } from "node:crypto";
import { textOf } from "../calls/fetch.ts";
import { unknownIdentity } from "../calls/identity.ts";
import type { OAuthProvider } from "./oauth-provider.ts";

/** Versions of the Graph API last about two years. The operator's apps file can name a newer one. */
export const graphVersion = "v21.0";

/**
 * `{version}` is replaced by the version. Visitors can refuse to share their e-mail address; a shared one has been
 * confirmed. Without PKCE and nonce, only the state binds a login to its browser.
 */
export const facebook: OAuthProvider = {
  name: "facebook",
  title: "Facebook",
  url: "https://www.facebook.com",
  authorizeUrl: "https://www.facebook.com/{version}/dialog/oauth",
  tokenUrl: "https://graph.facebook.com/{version}/oauth/access_token",
  scopes: () => ["public_profile", "email"],
  scopeSeparator: ",",
  pkce: false,
  otherAccount: { auth_type: "reauthenticate" },
  refreshes: false,
  async identity({ get, tokens, clientSecret }) {
    // Without the app's secret, a stolen token is useless.
    const proof = createHmac("sha256", clientSecret).update(tokens.access).digest("hex");
    const { json } = await get(`https://graph.facebook.com/{version}/me?fields=id,name,email&appsecret_proof=${proof}`);
    const email = textOf(json, "email");
    return {
      ...unknownIdentity,
      subject: textOf(json, "id"),
      name: textOf(json, "name"),
      email,
      emailVerified: email !== "",
    };
  },
};
