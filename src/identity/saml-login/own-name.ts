/**
 * What the addresses of a login end in, at the provider as on the login host. It stays as long as what has the login: a
 * route, a cloud endpoint or, for agents, whose endpoints have another id each time, the host of an account. People can
 * tell what it is of.
 */
import type { Scope } from "../../traffic/module.ts";
import { hostTag } from "../browser/realm.ts";
import { callbackUri } from "../browser/settings.ts";
import type { LoginSettings } from "../browser/settings.ts";

/** In place of a wildcard's `*`, which providers may refuse in an entity id: no host has a "_". */
const anyLabel = "_";

/** Of a module. A host that another account gets later has another name there. */
export function nameOfPlace({ ownerId, endpointHost, accountId }: Scope): string {
  if (endpointHost === undefined) return ownerId;
  return `${endpointHost.replace("*", anyLabel)}-${hostTag(accountId, endpointHost)}`;
}

/** Where a login is known at its provider. */
export interface SamlAddresses {
  /** What they end in: the route's id, or what other places have instead. */
  readonly routeId: string;
  readonly entityId: string;
  readonly acsUrl: string;
  readonly sloUrl: string;
}

export function addressesOf(name: string, settings: LoginSettings): SamlAddresses {
  const entityId = callbackUri(settings, `/saml/${name}`);
  return { routeId: name, entityId, acsUrl: `${entityId}/acs`, sloUrl: `${entityId}/slo` };
}

/** Of a rule. @param authId "" for none; letters, digits and "_" */
export function nameOfRule(scope: Scope, authId: string): string {
  return `${nameOfPlace(scope)}-rule${authId === "" ? "" : `-${authId}`}`;
}

/** What a name says of where the login is; whether it is there is another question. */
export function placeOfName(name: string): { readonly id: string } | { readonly host: string } | undefined {
  const place = name.replace(/-rule(?:-\w+)?$/, "");
  // Every id has a "_" and no dot.
  if (/^[\w-]{1,96}$/.test(place) && place.includes("_")) return { id: place };
  const [, wildcard, host] = /^(_\.)?([a-z0-9.-]{1,253})-[0-9a-z]{8}$/.exec(place) ?? [];
  if (host === undefined) return undefined;
  return { host: wildcard === undefined ? host : `*.${host}` };
}
