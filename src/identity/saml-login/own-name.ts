/**
 * The last segment of a login's addresses, at the provider and on the login host. It is readable, and as stable as the
 * login's place: a route, a cloud endpoint or, for agents, whose endpoint ids change, the host of an account.
 */
import type { Scope } from "../../traffic/module.ts";
import { hostTag } from "../browser/realm.ts";
import { callbackUri } from "../browser/login-settings.ts";
import type { LoginSettings } from "../browser/login-settings.ts";

/** Replaces a wildcard's `*`, which providers may reject in an entity id. No host contains "_". */
const anyLabel = "_";

/** The name for a module's login. If another account gets the host later, the name differs. */
export function nameOfPlace({ ownerId, endpointHost, accountId }: Scope): string {
  if (endpointHost === undefined) return ownerId;
  return `${endpointHost.replace("*", anyLabel)}-${hostTag(accountId, endpointHost)}`;
}

/** The addresses of a login at its provider. */
export interface SamlAddresses {
  /** Their last segment: the route's id, or the name of another place. */
  readonly routeId: string;
  readonly entityId: string;
  readonly acsUrl: string;
  readonly sloUrl: string;
}

export function addressesOf(name: string, settings: LoginSettings): SamlAddresses {
  const entityId = callbackUri(settings, `/saml/${name}`);
  return { routeId: name, entityId, acsUrl: `${entityId}/acs`, sloUrl: `${entityId}/slo` };
}

/** The name for a rule's login. @param authId letters, digits and "_"; "" if there is none */
export function nameOfRule(scope: Scope, authId: string): string {
  return `${nameOfPlace(scope)}-rule${authId === "" ? "" : `-${authId}`}`;
}

/** Parses a name into the place of its login, which may no longer exist. */
export function placeOfName(name: string): { readonly id: string } | { readonly host: string } | undefined {
  const place = name.replace(/-rule(?:-\w+)?$/, "");
  // Every id contains "_" and no dot.
  if (/^[\w-]{1,96}$/.test(place) && place.includes("_")) return { id: place };
  const [, wildcard, host] = /^(_\.)?([a-z0-9.-]{1,253})-[0-9a-z]{8}$/.exec(place) ?? [];
  if (host === undefined) return undefined;
  return { host: wildcard === undefined ? host : `*.${host}` };
}
