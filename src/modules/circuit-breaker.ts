import { f } from "../schema/fields.ts";
import { Breaker } from "../traffic/parts/breaker.ts";
import { defineModule } from "../traffic/module.ts";
import { denyStep, passStep } from "../traffic/step.ts";

export const circuitBreaker = defineModule({
  name: "circuit_breaker",
  schemaName: "EndpointCircuitBreaker",
  on: ["https_route"],
  doc: "Stops requests to a failing upstream, and retries after a pause. A failure is a status of 500 or more, or no response.",
  acts: { request: ["refuse"] },
  fields: {
    tripped_duration: f.uint32("Seconds to wait after tripping before a request tests the upstream.", {
      default: 10,
      zeroIsUnset: true,
    }),
    rolling_window: f.uint32("Seconds of the statistical window.", { default: 10, zeroIsUnset: true }),
    num_buckets: f.uint32("Number of buckets in the window. The oldest bucket is discarded first.", {
      max: 128,
      default: 10,
      zeroIsUnset: true,
    }),
    volume_threshold: f.uint32("Minimum requests in a window before the circuit can trip.", {
      default: 20,
      zeroIsUnset: true,
    }),
    error_threshold_percentage: f.number("Share of failures, 0 to 1, at which the circuit trips.", {
      min: 0,
      max: 1,
      default: 0.5,
    }),
  },
  compile(config, scope) {
    const { rolling_window, num_buckets, volume_threshold, error_threshold_percentage } = config;
    // Counts of a different window cannot be reused. All other settings may change.
    const key = `circuit_breaker ${scope.ownerId} ${rolling_window}/${num_buckets}`;
    const breaker = scope.keep(key, () => new Breaker(rolling_window * 1000, num_buckets));
    const limits = {
      volume: volume_threshold,
      share: error_threshold_percentage,
      trippedMs: config.tripped_duration * 1000,
    };
    const { clock } = scope;
    return {
      request: (exchange) =>
        breaker.isClosed ? steps.closed : steps[breaker.admit(exchange, clock.monotonic(), limits)],
      rehearse: () => steps[breaker.wouldAdmit(clock.monotonic(), limits)],
      settled(exchange, status) {
        if (exchange.abandoned) breaker.abandon(exchange);
        else breaker.settle(exchange, status === undefined || status >= 500, clock.monotonic(), limits);
      },
    };
  },
});

const steps = {
  closed: passStep("circuit_breaker", "closed"),
  probe: passStep("circuit_breaker", "half-open: this request tests the upstream"),
  open: denyStep("circuit_breaker", "circuit_open", "open: the upstream failed too often"),
} as const;
