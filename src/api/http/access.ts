/** Who may call: a key that is known, from an address that its account admits, not too often. */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { Key, KeyRing } from "./authenticate.ts";
import type { Exchange } from "./exchange.ts";
import { makeBuckets, makeRateLimit } from "./rate-limit.ts";
import { checkVersion, tooMany } from "./request-checks.ts";
import type { SourceRestriction } from "./source-restriction.ts";

export interface AccessOptions {
  readonly clock: Clock;
  readonly keys: KeyRing;
  readonly restriction: SourceRestriction;
  readonly limits: {
    /** Requests per minute and API key. */
    readonly requestsPerMinute: number;
    /** Attempts with a wrong key, per minute and source address. */
    readonly wrongKeysPerMinute: number;
  };
}

/** Notes in the exchange who calls, and what is left of the key's allowance; throws `Refusal`. */
export type Admit = (exchange: Exchange) => void;

export function makeAdmit({ clock, keys, restriction, limits }: AccessOptions): Admit {
  const { requestsPerMinute } = limits;
  const rate = makeRateLimit(clock, requestsPerMinute);
  const wrongKeys = makeRateLimit(clock, limits.wrongKeysPerMinute);
  const bucketOf = makeBuckets();

  const authenticate = (request: IncomingMessage): Key => {
    try {
      return keys.authenticate(request.headers.authorization, request.socket);
    } catch (error) {
      if (!(error instanceof Refusal) || error.reason === "missing_credentials") throw error;
      const allowance = wrongKeys.take(bucketOf(request.socket.remoteAddress ?? ""));
      throw allowance.allowed ? error : tooMany(allowance, "attempts with a wrong key");
    }
  };

  return (exchange) => {
    const { request } = exchange;
    const key = authenticate(request);
    exchange.principal = key.principal;
    restriction.check(key.principal.accountId, request.socket);
    checkVersion(request);
    exchange.allowance = rate.take(key.bucket);
    if (!exchange.allowance.allowed) throw tooMany(exchange.allowance, `${requestsPerMinute} requests per minute`);
  };
}
