import { createHmac } from "node:crypto";
import { textOf } from "../calls/fetch.ts";
import { nobody } from "../calls/identity.ts";
import type { OAuthProvider } from "./provider.ts";

/** Versions of the Graph API live for about two years: the operator's file of apps names a later one. */
export const graphVersion = "v21.0";

/**
 * `{version}` stands for the version. Visitors can untick the e-mail address; a given one has been confirmed. Neither PKCE nor
 * nonce: what holds a login to its browser is the state alone.
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
    // A token that was stolen from another place is of no use without the app's secret.
    const proof = createHmac("sha256", clientSecret).update(tokens.access).digest("hex");
    const { json } = await get(`https://graph.facebook.com/{version}/me?fields=id,name,email&appsecret_proof=${proof}`);
    const email = textOf(json, "email");
    return { ...nobody, subject: textOf(json, "id"), name: textOf(json, "name"), email, emailVerified: email !== "" };
  },
};
