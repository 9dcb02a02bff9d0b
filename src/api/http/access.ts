/** Checks callers: a known API key, an address that the account allows, and the rate limits. */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { Key, KeyRing } from "./authenticate.ts";
import type { ApiExchange } from "./api-exchange.ts";
import { makeBuckets, makeRateLimit } from "./rate-limit.ts";
import { checkVersion, refuseTooMany } from "./request-checks.ts";
import type { Front } from "./front.ts";
import type { SourceRestriction } from "./source-restriction.ts";

export interface AccessOptions {
  readonly clock: Clock;
  readonly keys: KeyRing;
  readonly front?: Front;
  readonly restriction: SourceRestriction;
  readonly limits: {
    /** Maximum number of requests per minute and API key. */
    readonly requestsPerMinute: number;
    /** Maximum number of attempts with a wrong key, per minute and source address. */
    readonly wrongKeysPerMinute: number;
  };
}

export interface Access {
  /** Records the caller and the key's remaining allowance in the exchange. Throws `Refusal`. */
  admit(exchange: ApiExchange, baseUrl: string): void;
  /** As `admit`, for a page with a session of a key. Such a page sends no API version. */
  admitKey(exchange: ApiExchange, key: Key): void;
  /** Runs `work`. Counts wrong credentials, and rejects them above the rate limit. */
  trying<T>(request: IncomingMessage, work: () => Promise<T>): Promise<T>;
}

export function makeAccess({ clock, keys, front, restriction, limits }: AccessOptions): Access {
  const { requestsPerMinute } = limits;
  const rate = makeRateLimit(clock, requestsPerMinute);
  const wrongKeys = makeRateLimit(clock, limits.wrongKeysPerMinute);
  const bucketOf = makeBuckets();

  /** Counts the error if it is a wrong credential. Returns the error to throw. */
  const counted = (error: unknown, request: IncomingMessage): unknown => {
    if (!(error instanceof Refusal) || !isWrong(error)) return error;
    const allowance = wrongKeys.take(bucketOf(request.socket.remoteAddress ?? ""));
    return allowance.allowed ? error : refuseTooMany(allowance, "attempts with a wrong key");
  };
  const authenticate = (request: IncomingMessage, baseUrl: string): Key => {
    const { authorization } = request.headers;
    try {
      const key = authorization === undefined ? front?.keyOf(request, baseUrl) : undefined;
      return key ?? keys.authenticate(authorization, request.socket);
    } catch (error) {
      throw counted(error, request);
    }
  };

  const admitKey = (exchange: ApiExchange, { principal, bucket }: Key): void => {
    exchange.principal = principal;
    restriction.check(principal.accountId, exchange.request.socket);
    exchange.allowance = rate.take(bucket);
    if (!exchange.allowance.allowed)
      throw refuseTooMany(exchange.allowance, `${requestsPerMinute} requests per minute`);
  };
  return {
    admit(exchange, baseUrl) {
      admitKey(exchange, authenticate(exchange.request, baseUrl));
      checkVersion(exchange.request);
    },
    admitKey,
    async trying(request, work) {
      try {
        return await work();
      } catch (error) {
        throw counted(error, request);
      }
    },
  };
}

/** Whether a wrong credential was sent. A rejected logout token gets status 400 (Back-Channel Logout 1.0 §2.8). */
function isWrong({ status, reason }: Refusal): boolean {
  return reason === "console_logout_refused" || (status === 401 && reason !== "missing_credentials");
}
