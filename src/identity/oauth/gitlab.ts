import { textOf } from "../calls/fetch.ts";
import type { OAuthProvider } from "./oauth-provider.ts";
import { standardIdentity } from "./standard-claims.ts";

/** Refresh tokens work once: each check returns a new one. */
export const gitlab: OAuthProvider = {
  name: "gitlab",
  title: "GitLab",
  url: "https://gitlab.com",
  authorizeUrl: "https://gitlab.com/oauth/authorize",
  tokenUrl: "https://gitlab.com/oauth/token",
  scopes: () => ["openid", "profile", "email"],
  pkce: true,
  openid: {
    issuer: "https://gitlab.com",
    keysUrl: "https://gitlab.com/oauth/discovery/keys",
    algorithms: ["RS256"],
  },
  refreshes: true,
  async identity({ get, claims }) {
    const { json } = await get("https://gitlab.com/oauth/userinfo");
    return { ...standardIdentity(json, claims), username: textOf(json, "nickname") };
  },
};
