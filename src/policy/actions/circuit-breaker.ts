import { f } from "../../schema/fields.ts";
import { Breaker } from "../../traffic/parts/breaker.ts";
import type { Admission } from "../../traffic/parts/breaker.ts";
import { defineAction, makeDone, endWith } from "../language/action.ts";
import type { ActionOutcome } from "../language/action.ts";
import type { PolicyPlace } from "../language/policy-context.ts";
import { parseDuration } from "../language/duration.ts";
import { enforceField } from "../language/enforce-field.ts";
import { durationFormat } from "../language/policy-formats.ts";

const buckets = 10;
const some = durationFormat(1, 120, 0);

interface Circuit {
  readonly breaker: Breaker;
  readonly place: PolicyPlace;
}

const outcomes: Readonly<Record<Admission, ActionOutcome>> = {
  closed: makeDone("closed"),
  probe: makeDone("half-open: this request tests the upstream"),
  open: endWith("open: the upstream failed too often", { by: "refusal", answer: { error: "circuit_open" } }),
};
const unenforced = makeDone("open, and not enforced");

export const circuitBreaker = defineAction({
  type: "circuit-breaker",
  phases: ["on_http_request"],
  doc: "Denies requests while the upstream fails, and retries after a pause. A failure is a status of 500 or more, or no response.",
  config: {
    error_threshold: f.number("Share of failures at which the circuit trips.", { min: 0, max: 1, default: 0.5 }),
    volume_threshold: f.uint32("Minimum requests in the window before the circuit can trip.", {
      min: 1,
      max: 2_000_000_000,
      default: 10,
    }),
    window_duration: f.string("The statistical window.", { maxBytes: 32, format: some, default: "10s" }),
    tripped_duration: f.string("The pause before a request tests the upstream.", {
      maxBytes: 32,
      format: some,
      default: "10s",
    }),
    num_buckets: f.uint32("Always 10.", { default: buckets }),
    enforce: enforceField,
  },
  rules: [
    ({ num_buckets: given }) =>
      given === buckets
        ? undefined
        : { path: "num_buckets", message: `must be ${buckets}, is ${given}`, reason: "policy_value_fixed" },
  ],
  terminating: "may",
  compile(config, { path }) {
    const windowMs = (parseDuration(config.window_duration) ?? 10) * 1000;
    const limits = {
      volume: config.volume_threshold,
      share: config.error_threshold,
      trippedMs: (parseDuration(config.tripped_duration) ?? 10) * 1000,
    };
    const said = (admission: Admission): ActionOutcome =>
      admission === "open" && !config.enforce ? unenforced : outcomes[admission];
    return {
      // Counters of another window cannot be carried over. All other settings may change.
      attach: (place): Circuit => ({
        place,
        breaker: place.keep(`circuit ${path} ${windowMs}`, () => new Breaker(windowMs, buckets)),
      }),
      run({ exchange }, state) {
        const { breaker, place } = state as Circuit;
        if (!exchange) return outcomes.closed;
        return said(breaker.isClosed ? "closed" : breaker.admit(exchange, place.clock.monotonic(), limits));
      },
      rehearse(_context, state) {
        const { breaker, place } = state as Circuit;
        return said(breaker.wouldAdmit(place.clock.monotonic(), limits));
      },
      settled(exchange, status, state) {
        const { breaker, place } = state as Circuit;
        if (exchange.abandoned) breaker.abandon(exchange);
        else breaker.settle(exchange, status === undefined || status >= 500, place.clock.monotonic(), limits);
      },
    };
  },
});
