/** Requests, problems and latency over time. */
import { useState } from "preact/hooks";
import { Chart } from "../../charts/chart.tsx";
import { countText } from "../../charts/scale.ts";
import { durationText } from "../../ui/format.ts";
import { subtractSeries } from "../series.ts";
import type { Loaded, Period } from "../series.ts";

interface OverTimeProps {
  readonly loaded: Loaded;
  readonly period: Period;
  readonly asTable: boolean;
}

export function OverTime({ loaded: { times, groups, isComplete }, period, asTable }: OverTimeProps) {
  const [step, setStep] = useState<number>();
  const [all] = groups;
  if (!all) return null;
  const [requests, denied, errors] = [all.values("requests"), all.values("denied"), all.values("errors")];
  const empty = `No traffic in the last ${period}`;
  const shared = { times, asTable, step, onStep: setStep, empty };
  const hasLatency = all.values("latency_p95").some((value) => value !== null);
  return (
    <section class="column" aria-label="Traffic over time">
      {!isComplete && (
        <p class="notice warn" role="status">
          Not every node answers, so these numbers are too low.
        </p>
      )}
      <div class="charts">
        <Chart
          {...shared}
          title="Requests"
          kind="bars"
          figure={
            <>
              <strong>{countText(all.total("requests"))}</strong>
              {perSecond(all.total("requests"), times.stepMs * times.count)}
              {all.total("connections") > 0 && `, ${countText(all.total("connections"))} TCP and TLS connections`}
            </>
          }
          lines={[
            { name: "OK", colour: "accent", values: subtractSeries(requests, denied, errors) },
            { name: "Denied", colour: "warn", values: denied },
            { name: "Errors", colour: "bad", values: errors },
          ]}
          text={countText}
        />
        <Chart
          {...shared}
          title="Denied and errors"
          kind="bars"
          figure={
            <>
              <strong>{countText(all.total("errors"))}</strong>
              {`errors (${formatShare(all.total("errors"), all.total("requests"))}), ${countText(all.total("denied"))} denied`}
            </>
          }
          lines={[
            { name: "Denied", colour: "warn", values: denied },
            { name: "Errors", colour: "bad", values: errors },
          ]}
          empty={requests.some((value) => (value ?? 0) > 0) ? "Nothing denied, no errors" : empty}
          text={countText}
        />
        <Chart
          {...shared}
          title="Latency"
          kind="lines"
          figure={
            <>
              <strong>{hasLatency ? durationText(all.total("latency_p95")) : "–"}</strong>
              {hasLatency ? `p95, half within ${durationText(all.total("latency_p50"))}` : "until the response begins"}
            </>
          }
          lines={[
            { name: "p50", colour: "accent", values: all.values("latency_p50") },
            { name: "p95", colour: "info", values: all.values("latency_p95") },
          ]}
          text={durationText}
        />
      </div>
    </section>
  );
}

function perSecond(count: number, ms: number): string {
  const rate = count / (ms / 1_000);
  return rate >= 1 ? `${countText(Math.round(rate))} per second` : `${countText(Math.round(rate * 60))} per minute`;
}

/** `0 %`, `0.4 %`, `12 %`. */
export function formatShare(part: number, whole: number): string {
  const percent = whole === 0 ? 0 : (part / whole) * 100;
  if (percent === 0 || percent >= 10) return `${Math.round(percent)} %`;
  return percent < 0.1 ? "under 0.1 %" : `${percent.toFixed(1)} %`;
}
