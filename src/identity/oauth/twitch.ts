import { textOf } from "../calls/fetch.ts";
import type { OAuthProvider } from "./oauth-provider.ts";
import { standardIdentity } from "./standard-claims.ts";

/** Claims of userinfo must be requested by name. */
const claims = JSON.stringify({
  id_token: { email: null, email_verified: null, preferred_username: null },
  userinfo: { email: null, email_verified: null, preferred_username: null },
});

export const twitch: OAuthProvider = {
  name: "twitch",
  title: "Twitch",
  url: "https://id.twitch.tv",
  authorizeUrl: "https://id.twitch.tv/oauth2/authorize",
  tokenUrl: "https://id.twitch.tv/oauth2/token",
  scopes: () => ["openid", "user:read:email"],
  pkce: false,
  openid: {
    issuer: "https://id.twitch.tv/oauth2",
    keysUrl: "https://id.twitch.tv/oauth2/keys",
    algorithms: ["RS256"],
  },
  otherAccount: { force_verify: "true" },
  parameters: () => ({ claims }),
  refreshes: true,
  // "Validating tokens": required hourly, with this endpoint and scheme.
  validatesEvery: 3600,
  async identity({ get, tokens, claims: signed }) {
    await get("https://id.twitch.tv/oauth2/validate", { authorization: `OAuth ${tokens.access}` });
    const { json } = await get("https://id.twitch.tv/oauth2/userinfo");
    const identity = standardIdentity(json, signed);
    return { ...identity, name: textOf(json, "preferred_username") };
  },
};
