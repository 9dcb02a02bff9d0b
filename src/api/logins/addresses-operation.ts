/** Lists the addresses to register at an identity provider. */
import { oauthCallback } from "../../identity/methods/code-method.ts";
import { issuerTag } from "../../identity/browser/realm.ts";
import { idpUrl } from "../../lib/server-names.ts";
import type { ServerNames } from "../../lib/server-names.ts";
import type { Store } from "../../storage/store.ts";
import { readOnce } from "../objects/page-query.ts";
import type { Operation } from "../operation/call.ts";
import { object, orNull, textSchema, textOrNull } from "../operation/shapes.ts";

/** The built-in OpenID Connect provider for development. It accepts anyone, and only on the server's machine. */
export interface DevelopmentProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface LoginPlaces {
  readonly names: ServerNames;
  /** HTTPS port in public URLs. */
  readonly httpsPort: () => number;
  /** Whether all issuers redirect to the same callback address. */
  readonly sharedCallback: boolean;
  readonly developmentProvider: DevelopmentProvider | undefined;
}

const schema = object("Values to register at an identity provider.", {
  redirect_uri: textSchema("URL to which logins return (callback)."),
  post_logout_redirect_uri: textOrNull("URL to which logouts return; null for OAuth."),
  backchannel_logout_uri: textOrNull("URL for the logout notices of an OpenID provider; null for OAuth."),
  development_provider: orNull(
    object(
      "A development identity provider on the server's machine that accepts any identity; null without such a provider.",
      {
        issuer: textSchema("Its address."),
        client_id: textSchema("Client id of this server at the provider."),
        client_secret: textSchema("Client secret of this server: any value, because the provider accepts everything."),
      },
    ),
  ),
});

export function loginAddressesOperation(
  store: Pick<Store, "revision">,
  { names, httpsPort, sharedCallback, developmentProvider }: LoginPlaces,
): Operation {
  return {
    id: "getLoginAddresses",
    method: "GET",
    path: "/login_addresses",
    summary:
      "Return the values to register at an identity provider: for OpenID Connect with its `issuer`, else for OAuth. Values for SAML providers are in each route's `saml`.",
    takes: "nothing",
    query: ["issuer"],
    status: 200,
    replySchema: "LoginAddresses",
    schemas: { LoginAddresses: schema },
    exampleReply: {
      redirect_uri: "https://idp.t.example.com/oauth2/callback",
      post_logout_redirect_uri: null,
      backchannel_logout_uri: null,
      development_provider: null,
    },
    run(call) {
      const base = idpUrl(names, httpsPort());
      const issuer = readOnce(call, "issuer");
      const tag = issuer === undefined ? undefined : issuerTag(call.principal.accountId, issuer);
      const body = {
        redirect_uri: base + oauthCallback + (tag === undefined || sharedCallback ? "" : `/${tag}`),
        post_logout_redirect_uri: tag === undefined ? null : `${base}/logged-out`,
        backchannel_logout_uri: tag === undefined ? null : `${base}/oidc/${tag}/backchannel-logout`,
        development_provider: developmentProvider
          ? {
              issuer: developmentProvider.issuer,
              client_id: developmentProvider.clientId,
              client_secret: developmentProvider.clientSecret,
            }
          : null,
      };
      return { status: 200, body: JSON.stringify(body), revision: store.revision };
    },
  };
}
