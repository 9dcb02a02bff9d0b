/** Requests userinfo with the visitor's access token (OpenID Connect Core §5.3). */
import type { JsonObject } from "../../lib/json.ts";
import type { ProviderFetch } from "../calls/fetch.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { Issuer } from "./oidc-discovery.ts";
import { verifyUserinfo } from "./id-token.ts";
import type { ExpectedToken } from "./id-token.ts";

/** Returns claims about this subject; no claims if the issuer has no such endpoint. Rejects with `LoginRefusal`. */
export async function userinfoOf(
  subject: string,
  { userinfoEndpoint, keys }: Issuer,
  expected: ExpectedToken,
  fetcher: ProviderFetch,
): Promise<JsonObject> {
  const { accessToken } = expected;
  if (userinfoEndpoint === "" || accessToken === "") return {};
  const { status, json, token } = await fetcher.get(userinfoEndpoint, { authorization: `Bearer ${accessToken}` });
  if (status === 401) throw new LoginRefusal("login_withdrawn", "the provider's userinfo rejects its access token");
  if (status !== 200) throw new LoginRefusal("login_provider_error", `the provider's userinfo is answered ${status}`);
  const claims = token === undefined ? json : await verifyUserinfo(token, keys, expected);
  if (claims["sub"] === subject) return claims;
  throw new LoginRefusal("login_token_invalid", "the provider's userinfo belongs to another subject");
}
