/**
 * External requests of policies, over the one outbound path (security I7). Used if the policy's host process provides
 * nothing else.
 */
import { openKeySets } from "../../jose/key-sets.ts";
import type { KeySets, KeySetsOf } from "../../jose/key-sets.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import { hostMatches } from "../../lib/hostport.ts";
import { openOutbound } from "../../outbound/outbound.ts";
import type { InternalCalls } from "../../traffic/http-calls.ts";
import type { PolicyPlace } from "../language/policy-context.ts";
import type { HttpCaller } from "../language/http-caller.ts";
import { makeHttpCaller, maxAnswerBytes } from "./http-call.ts";

const keySetTimeoutMs = 5000;

export interface OutsideOptions {
  readonly clock: Clock;
  /** Whether URLs from tenants may lead to internal addresses, and be used without TLS. */
  readonly allowLocal: boolean;
  /** PEM of authorities that replace the system's trusted ones. */
  readonly ca: string | undefined;
  /** External hosts that rules may send requests to, lower case; wildcards as `*.example.com`. */
  readonly hosts: readonly string[];
  readonly inside: InternalCalls | undefined;
}

export interface Outside {
  readonly keySets: KeySetsOf;
  readonly calls: HttpCaller;
}

/** @returns the keys of token issuers, and the sender of `http-request` requests */
export function openOutside({ clock, allowLocal, ca, hosts, inside }: OutsideOptions): Outside {
  const reach = allowLocal ? "any" : "public";
  const way = { purpose: "policy", clock, reach, ca, keepsConnections: false } as const;
  const outside = openOutbound({ ...way, maxAnswerBytes });
  return {
    keySets: openKeySets(openOutbound({ ...way, timeoutMs: keySetTimeoutMs })),
    calls: makeHttpCaller({ clock, inside, outside, allows: (host) => hosts.some((one) => hostMatches(one, host)) }),
  };
}

let shared: Outside | undefined;

/** Reaches no internal endpoint, and no external host except those of key sets. */
function openSharedOutside(): Outside {
  const nobody = { allowLocal: false, ca: undefined, hosts: [], inside: undefined };
  return (shared ??= openOutside({ clock: systemClock, ...nobody }));
}

export function keySetsOf({ services, accountId }: PolicyPlace): KeySets {
  return (services.keySets ?? openSharedOutside().keySets)(accountId);
}

export function callsOf({ services }: PolicyPlace): HttpCaller {
  return services.calls ?? openSharedOutside().calls;
}
