/** The ways out of this server that policies share, where the one who runs them gives no others (security I7). */
import { openKeySets } from "../jose/key-sets.ts";
import type { KeySets } from "../jose/key-sets.ts";
import { systemClock } from "../lib/clock.ts";
import { openOutbound } from "../outbound/client.ts";
import type { Outbound } from "../outbound/client.ts";
import type { PolicyPlace } from "./context.ts";
import { makeHttpCaller, maxAnswerBytes } from "./parts/http-call.ts";
import type { HttpCaller } from "./parts/http-call.ts";

const keySetTimeoutMs = 5000;

let keySets: KeySets | undefined;
let calls: HttpCaller | undefined;

export function keySetsOf({ services }: PolicyPlace): KeySets {
  return services.keySets ?? (keySets ??= openKeySets(outboundOf({ timeoutMs: keySetTimeoutMs })));
}

/** Reaches no host until whoever runs the policy says which. */
export function callsOf({ services }: PolicyPlace): HttpCaller {
  return (
    services.calls ??
    (calls ??= makeHttpCaller({
      clock: systemClock,
      outside: outboundOf({ maxAnswerBytes }),
      inside: {
        covers: (host) => host.endsWith(".internal"),
        send: () => Promise.reject(new Error("this server has no internal endpoints")),
      },
      allows: () => false,
    }))
  );
}

function outboundOf(bounds: { readonly timeoutMs?: number; readonly maxAnswerBytes?: number }): Outbound {
  return openOutbound({ purpose: "policy", clock: systemClock, reach: "public", keepsConnections: false, ...bounds });
}
