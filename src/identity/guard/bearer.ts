/** Access tokens of clients that are not browsers (RFC 6750, RFC 9728). */
import type { RefusalName } from "../../lib/errors.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import type { FixedAnswer } from "../../traffic/step.ts";
import type { LoginContext } from "./login-context.ts";
import type { GuardOptions } from "./guard-options.ts";
import type { MachineClients } from "../../traffic/machine-clients.ts";
import type { ScopeFacts } from "../../traffic/scope-rules.ts";
import { refusalAnswer } from "../browser/login-pages.ts";
import { originOf } from "../browser/login-settings.ts";
import type { Grant } from "../sessions/grant.ts";
import type { ClockTimes, Session } from "../sessions/login-session.ts";

export const resourceMetadataPath = "/.well-known/oauth-protected-resource";

const maxPath = 512;

/** What the answer to a request without a sufficient token says. */
export interface Challenge {
  readonly errorName: RefusalName;
  /** RFC 6750 §3.1; absent if the request had no token. */
  readonly error?: string;
  readonly scope: string;
}

/** The place that a token is for: a route, or the host of an agent's endpoint, whose id changes. */
export function audienceOf({ ownerId, isAgents }: Pick<GuardOptions, "ownerId" | "isAgents">, host: string): string {
  return isAgents === true ? host : ownerId;
}

/** Why the token is invalid for a host of this route, besides the faults of every session. */
export function tokenFault(
  session: Session,
  grant: Grant,
  options: Pick<GuardOptions, "ownerId" | "isAgents" | "machines">,
  host: string,
  clock: ClockTimes,
): string | undefined {
  const { machines } = options;
  if (machines === undefined) return "the route admits browsers only";
  if (grant.issuedAt === 0) return "the client has no token yet";
  if (grant.audience !== audienceOf(options, host)) return "the token is for another route";
  if (session.tokenAge(clock, grant.issuedAt) >= machines.accessTokenMinutes * 60_000) return "the token has expired";
  return undefined;
}

/** A token must have the first scope of the route, and those of the rules that match. */
export function findMissingScopes(
  grant: Grant,
  { scopes: [least = ""], scopeRules }: MachineClients,
  facts: ScopeFacts,
): readonly string[] {
  const has = (scope: string): boolean => grant.scopes.includes(scope);
  const missing = has(least) ? [] : [least];
  for (const rule of scopeRules) if (!has(rule.scope) && rule.needs(facts)) missing.push(rule.scope);
  return missing;
}

/** The path of a request as the path of a resource: "" for the whole host, and for unusual or long paths. */
export function resourcePath(path: string): string {
  return path.length <= maxPath && path !== "/" && /^[\w\-.~!$&'()*+,;=:@%/]+$/.test(path) ? path : "";
}

export function challengeAnswer(
  exchange: Exchange,
  { errorName, error, scope }: Challenge,
  { method }: Pick<GuardOptions, "method">,
  { settings }: LoginContext,
): FixedAnswer {
  const { host, path } = exchange.request;
  const origin = originOf(host, settings.httpsPort());
  const metadata = origin + resourceMetadataPath + resourcePath(path);
  const parameters = [
    ...(error === undefined ? [] : [`error="${error}"`]),
    `resource_metadata="${metadata}"`,
    `scope="${scope}"`,
  ];
  return refusalAnswer(
    errorName,
    { requestId: exchange.id, provider: method.title, asPage: false, details: { resource_metadata: metadata } },
    {
      "www-authenticate": `Bearer ${parameters.join(", ")}`,
      // Clients in browsers read the field. The answer contains nothing that belongs to a person.
      "access-control-allow-origin": "*",
      "access-control-expose-headers": "WWW-Authenticate",
    },
  );
}
