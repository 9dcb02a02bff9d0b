import { textOf } from "../calls/fetch.ts";
import { unknownIdentity } from "../calls/identity.ts";
import type { OAuthProvider } from "./oauth-provider.ts";

/** Login with Amazon: addresses are Amazon's own login names, but nothing says that they were verified. */
export const amazon: OAuthProvider = {
  name: "amazon",
  title: "Amazon",
  url: "https://www.amazon.com",
  authorizeUrl: "https://www.amazon.com/ap/oa",
  tokenUrl: "https://api.amazon.com/auth/o2/token",
  scopes: () => ["profile"],
  pkce: true,
  refreshes: true,
  async identity({ get }) {
    const { json } = await get("https://api.amazon.com/user/profile");
    const email = textOf(json, "email");
    return {
      ...unknownIdentity,
      subject: textOf(json, "user_id"),
      name: textOf(json, "name"),
      email,
      emailVerified: email !== "",
    };
  },
};
