/** The logins that an edge's route may require, as far as the control plane can tell without compiling the route. */
import { isDeepStrictEqual } from "node:util";
import { oauthProviders } from "../oauth/oauth-providers.ts";
import type { RecordPlace } from "./session-records.ts";

type RouteDoc = Readonly<Record<string, unknown>>;
/** As stored with a session. */
export type MadeLogin = Pick<RecordPlace["common"], "clientId" | "cookiePrefix" | "providerName" | "providerUrl">;

const blocks: Readonly<Record<string, (block: RouteDoc, made: MadeLogin) => boolean>> = {
  oauth({ provider }, { clientId, providerName }) {
    return Object.entries((provider ?? {}) as Readonly<Record<string, RouteDoc | null>>).some(([name, app]) => {
      // The server's own app may have changed since.
      const isClient = app?.["client_id"] === "" || app?.["client_id"] === clientId;
      return isClient && oauthProviders.get(name)?.title === providerName;
    });
  },
  oidc: ({ issuer, client_id }, { clientId, providerUrl }) => client_id === clientId && issuer === providerUrl,
  saml: ({ entity_id }, { clientId }) => entity_id === clientId,
  traffic_policy: ({ value }) => /oauth|openid-connect|saml|\\/.test(String(value)),
};

/**
 * Whether a route may require the login of a session. True in case of doubt, such as a policy rule. @param doc document
 * of the route
 */
export function mayAskFor(doc: RouteDoc, made: MadeLogin): boolean {
  return Object.entries(blocks).some(([name, isLike]) => {
    const block = doc[name] as RouteDoc | null | undefined;
    return block && block["enabled"] !== false && isOfPrefix(block, made) && isLike(block, made);
  });
}

/**
 * Whether a route required a login that it no longer requires, or requires differently. @param after undefined: the
 * route was deleted
 */
export function hasLostLogin(before: RouteDoc, after: RouteDoc | undefined): boolean {
  return Object.keys(blocks).some((name) => before[name] && !isDeepStrictEqual(before[name], after?.[name]));
}

/** Policy rules have no prefix. */
function isOfPrefix({ cookie_prefix }: RouteDoc, { cookiePrefix }: MadeLogin): boolean {
  return cookie_prefix === undefined || cookiePrefix === undefined || cookie_prefix === cookiePrefix;
}
