import { CelFailure } from "../../cel/values/cel-failure.ts";
import { types } from "../../cel/checking/cel-types.ts";
import type { Program } from "../../cel/program.ts";
import { f } from "../../schema/fields.ts";
import { breakWith, defineAction, makeDone, endWith } from "../language/action.ts";
import type { ActionOutcome } from "../language/action.ts";
import type { PolicyContext } from "../language/policy-context.ts";
import { parseDuration } from "../language/duration.ts";
import { durationFormat } from "../language/policy-formats.ts";
import { makeSlidingWindow, retryAfterSeconds } from "../parts/sliding-window.ts";
import type { SlidingWindow } from "../parts/sliding-window.ts";
import { toJsonData } from "../language/text-of.ts";

export const rateLimit = defineAction({
  type: "rate-limit",
  phases: ["on_http_request"],
  doc: "Denies requests above a rate, on each server separately. Denied requests do not count.",
  config: {
    name: f.string("Name of the limit.", { required: true, maxBytes: 1023 }),
    algorithm: f.oneOf("Algorithm that counts requests.", ["sliding_window"], { required: true }),
    capacity: f.uint32("Maximum requests per period.", { required: true, min: 1, max: 2_000_000_000 }),
    rate: f.string("The period, 60 s to 24 h in steps of 10 s.", {
      required: true,
      format: durationFormat(60, 86_400, 10),
    }),
    bucket_key: f.list(
      "Expressions without `${…}`. Requests with the same values share a limit.",
      f.string("One expression.", { minBytes: 1, maxBytes: 2048 }),
      { required: true, minItems: 1, maxItems: 10 },
    ),
    enforce: f.boolean("Whether requests are denied, or only reported.", { default: true }),
  },
  terminating: "may",
  results: { name: "rate_limit", fields: { bucket_key: types.string, limited: types.bool } },
  compile({ name, capacity, rate, bucket_key, enforce }, scope) {
    const windowMs = (parseDuration(rate) ?? 0) * 1000;
    const programs = bucket_key.map((source, index) => scope.expression(source, `bucket_key[${index}]`));
    const decide = (context: PolicyContext, window: SlidingWindow, isReal: boolean): ActionOutcome => {
      const key = keyOf(programs, context);
      if (key instanceof CelFailure) return breakWith(key);
      const waitMs = isReal ? window.take(key) : window.wait(key);
      const result = { bucket_key: key, limited: waitMs > 0 };
      if (waitMs <= 0) return makeDone(`within ${capacity} per ${rate}`, result);
      const seconds = retryAfterSeconds(waitMs);
      const reason = `more than ${capacity} per ${rate}; the next in ${seconds} s`;
      if (!enforce) return makeDone(`${reason}, not enforced`, result);
      const answer = { error: "rate_limited", headers: { "retry-after": String(seconds) } } as const;
      return endWith(reason, { by: "refusal", answer }, result);
    };
    return {
      // A changed limit starts with new counters.
      attach: (place) =>
        place.keep(`rate-limit ${scope.path} ${capacity} ${windowMs} ${name}`, () =>
          makeSlidingWindow({
            capacity,
            windowMs,
            monotonic: () => place.clock.monotonic(),
            pool: place.services.windows,
          }),
        ),
      run: (context, window) => decide(context, window as SlidingWindow, true),
      rehearse: (context, window) => decide(context, window as SlidingWindow, false),
    };
  },
});

/** A missing value is "", like an empty one. Returns a failure if a limit was exceeded. */
function keyOf(programs: readonly (Program | undefined)[], context: PolicyContext): string | CelFailure {
  const values: unknown[] = [];
  for (const program of programs) {
    const value = program?.evaluate(context, context);
    const plain = value === undefined || value instanceof CelFailure ? value : toJsonData(value, context);
    if (plain instanceof CelFailure && plain.isFinal) return plain;
    values.push(plain === undefined || plain instanceof CelFailure ? "" : plain);
  }
  return JSON.stringify(values);
}
