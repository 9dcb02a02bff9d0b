/** Which logins a route of an edge asks for, as far as the control plane has to know, which compiles none of them. */
import { isDeepStrictEqual } from "node:util";
import { oauthProviders } from "../oauth/providers.ts";
import type { Place } from "./records.ts";

type Doc = Readonly<Record<string, unknown>>;
/** As it is kept of a session. */
export type MadeLogin = Pick<Place["common"], "clientId" | "cookiePrefix" | "providerName" | "providerUrl">;

const blocks: Readonly<Record<string, (block: Doc, made: MadeLogin) => boolean>> = {
  oauth({ provider }, { clientId, providerName }) {
    return Object.entries((provider ?? {}) as Readonly<Record<string, Doc | null>>).some(([name, app]) => {
      // The server's own app may be another one by now.
      const isClient = app?.["client_id"] === "" || app?.["client_id"] === clientId;
      return isClient && oauthProviders.get(name)?.title === providerName;
    });
  },
  oidc: ({ issuer, client_id }, { clientId, providerUrl }) => client_id === clientId && issuer === providerUrl,
  saml: ({ entity_id }, { clientId }) => entity_id === clientId,
  traffic_policy: ({ value }) => /oauth|openid-connect|saml|\\/.test(String(value)),
};

/** Whether a route may ask for the login that a session is of; in doubt it does, as where a rule of a policy may. @param doc of the route */
export function mayAskFor(doc: Doc, made: MadeLogin): boolean {
  return Object.entries(blocks).some(([name, isLike]) => {
    const block = doc[name] as Doc | null | undefined;
    return block && block["enabled"] !== false && isOfPrefix(block, made) && isLike(block, made);
  });
}

/** Whether a route asked for a login that it asks for in another way now, or not at all. @param after undefined: it has gone */
export function hasLostLogin(before: Doc, after: Doc | undefined): boolean {
  return Object.keys(blocks).some((name) => before[name] && !isDeepStrictEqual(before[name], after?.[name]));
}

/** Rules of policies have none. */
function isOfPrefix({ cookie_prefix }: Doc, { cookiePrefix }: MadeLogin): boolean {
  return cookie_prefix === undefined || cookiePrefix === undefined || cookie_prefix === cookiePrefix;
}
