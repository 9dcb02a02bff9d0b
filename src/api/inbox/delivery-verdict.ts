import type { DeliveryVerdict } from "../../storage/inbox/inbox-messages.ts";
import type { InboxResult } from "../../traffic/stored-request.ts";
import type { InboxConfig } from "../../traffic/parts/inbox-fields.ts";
import { hourMs } from "../../lib/durations.ts";

/**
 * Decides how a message continues after an attempt.
 * @param counted number of this attempt, from 1
 * @param random from 0 up to, but not including, 1
 */
export function verdictOn(result: InboxResult, config: InboxConfig, counted: number, random: number): DeliveryVerdict {
  const { status, error, isAway, retryAfterMs = 0 } = result;
  const retainMs = config.retain_hours * hourMs;
  if (isAway) return { is: "return" };
  if (error === undefined && status !== undefined) {
    if (status >= 200 && status < 300) return { is: "delivered", retainMs };
    if (status === 410) return { is: "refused", retainMs };
  }
  if (counted >= config.max_attempts) return { is: "dead", retainMs };
  const pauseMs =
    Math.min(config.first_retry_seconds * 2 ** Math.min(counted - 1, 30), config.max_retry_seconds) * 1000;
  // Half of the pause is random, so that messages which failed together do not return together.
  return { is: "retry", afterMs: Math.max(Math.round(pauseMs / 2 + (pauseMs / 2) * random), retryAfterMs) };
}
