/** The busiest services, each with a small chart. */
import { Bars } from "../../charts/marks.tsx";
import { countText } from "../../charts/scale.ts";
import { Tag } from "../../ui/elements.tsx";
import { durationText } from "../../ui/format.ts";
import { linkTo } from "../router.ts";
import { subtractSeries } from "../series.ts";
import type { Loaded, Series } from "../series.ts";
import { formatShare } from "./over-time.tsx";

export function Services({ loaded: { groups } }: { readonly loaded: Loaded }) {
  const busy = groups.filter((one) => trafficOf(one) > 0);
  if (busy.length === 0) return null;
  return (
    <section class="panel" aria-label="Busiest services">
      <header>
        <h2 class="grow">Busiest services</h2>
      </header>
      <ul class="service-cards">
        {busy.map((one) => (
          <Service key={one.serviceId ?? ""} service={one} />
        ))}
      </ul>
    </section>
  );
}

function Service({ service }: { readonly service: Series }) {
  const { name, serviceId } = service;
  const [requests, errors] = [service.values("requests"), service.values("errors")];
  const connections = service.values("connections");
  const isHttp = service.total("requests") > 0;
  const bars = isHttp ? subtractSeries(requests, errors) : connections;
  const top = Math.max(1, ...(isHttp ? requests : connections).map(Number));
  const p95 = service.total("latency_p95");
  const errorCount = service.total("errors");
  const facts = isHttp
    ? `${countText(service.total("requests"))} ${service.total("requests") === 1 ? "request" : "requests"}, p95 ${durationText(p95)}`
    : `${countText(service.total("connections"))} connections`;
  return (
    <li>
      <span class="row">
        {serviceId === undefined ? (
          <strong class="grow cut">All other services</strong>
        ) : (
          <a class="grow cut" href={linkOf(serviceId)}>
            {name || serviceId}
          </a>
        )}
        {errorCount > 0 && <Tag tone="bad">{`${formatShare(errorCount, service.total("requests"))} errors`}</Tag>}
      </span>
      <span class="muted small">{facts}</span>
      <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
        <path class="grid" d="M0 100H100" />
        <Bars
          top={top}
          lines={[
            { name: "ok", colour: "accent", values: bars },
            { name: "errors", colour: "bad", values: errors },
          ]}
        />
      </svg>
    </li>
  );
}

function trafficOf(service: Series): number {
  return service.total("requests") + service.total("connections");
}

/** Kinds of services by the prefix of their ids. */
const kinds: Readonly<Record<string, string>> = { ep: "endpoint", edgtls: "tls_edge", edgtcp: "tcp_edge" };

function linkOf(id: string): string {
  const kind = kinds[id.split("_")[0] ?? ""];
  return kind === undefined ? linkTo("edges", id) : linkTo("objects", kind, id);
}
