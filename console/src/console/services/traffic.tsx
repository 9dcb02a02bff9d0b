/** Requests or connections of a service over the last hour. */
import { useState } from "preact/hooks";
import { Chart } from "../../charts/chart.tsx";
import { countText } from "../../charts/scale.ts";
import { durationText } from "../../ui/format.ts";
import { periods, loadSeries, subtractSeries } from "../series.ts";
import type { Metric } from "../series.ts";
import { useEvery } from "../live-changes.ts";
import { useData } from "../use-data.ts";
import type { Service } from "./services.ts";

const metrics: readonly Metric[] = ["requests", "errors", "denied", "connections", "latency_p50", "latency_p95"];

export function ServiceTraffic({ service: { id, protocol } }: { readonly service: Service }) {
  const [asked, setAsked] = useState(0);
  const [step, setStep] = useState<number>();
  useEvery(periods.hour.everyMs * 3, () => setAsked((count) => count + 1), [id]);
  const { value } = useData(() => loadSeries("hour", metrics, "none", id), [id, asked]);
  const [all] = value?.groups ?? [];
  if (!value || !all) return null;
  const isHttp = protocol.startsWith("http");
  const shared = { times: value.times, asTable: false, step, onStep: setStep, empty: "No traffic in the last hour" };
  const [requests, denied, errors] = [all.values("requests"), all.values("denied"), all.values("errors")];
  const counted = all.total(isHttp ? "requests" : "connections");
  return (
    <div class="charts two-charts">
      <Chart
        {...shared}
        title={isHttp ? "Requests" : "Connections"}
        kind="bars"
        figure={
          <>
            <strong>{countText(counted)}</strong>
            {isHttp
              ? `in the last hour, ${countText(all.total("denied"))} denied, ${countText(all.total("errors"))} errors`
              : "in the last hour"}
          </>
        }
        lines={
          isHttp
            ? [
                { name: "OK", colour: "accent", values: subtractSeries(requests, denied, errors) },
                { name: "Denied", colour: "warn", values: denied },
                { name: "Errors", colour: "bad", values: errors },
              ]
            : [{ name: "Connections", colour: "accent", values: all.values("connections") }]
        }
        text={countText}
      />
      {isHttp && (
        <Chart
          {...shared}
          title="Latency"
          kind="lines"
          figure={
            <>
              <strong>{counted === 0 ? "–" : durationText(all.total("latency_p95"))}</strong>
              {counted === 0
                ? "until the response begins"
                : `p95, half within ${durationText(all.total("latency_p50"))}`}
            </>
          }
          lines={[
            { name: "p50", colour: "accent", values: all.values("latency_p50") },
            { name: "p95", colour: "info", values: all.values("latency_p95") },
          ]}
          text={durationText}
        />
      )}
    </div>
  );
}
