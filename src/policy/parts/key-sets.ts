/** The keys of issuers of tokens, fetched by the one way out (security I7), where whoever runs a policy gives no others. */
import { openKeySets } from "../../jose/key-sets.ts";
import type { KeySets } from "../../jose/key-sets.ts";
import { systemClock } from "../../lib/clock.ts";
import { openOutbound } from "../../outbound/client.ts";
import type { PolicyPlace } from "../language/context.ts";

const timeoutMs = 5000;

let shared: KeySets | undefined;

export function keySetsOf({ services }: PolicyPlace): KeySets {
  return services.keySets ?? (shared ??= openKeySets(openOutbound({ ...way, timeoutMs })));
}

const way = { purpose: "policy", clock: systemClock, reach: "public", keepsConnections: false } as const;
