/** What people want to know about a service: who may reach it, where it leads, and how its requests end. */
import { Activity, ArrowRight, Lock, LockOpen } from "lucide";
import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { Dot, Tag } from "../../ui/elements.tsx";
import { clockText, statusTone } from "../../ui/format.ts";
import { Icon } from "../../ui/icon.tsx";
import { postern } from "../api.ts";
import type { Description } from "../description.ts";
import { configurationChanges, trafficChanges, useEvery } from "../live-changes.ts";
import { Failed } from "../parts.tsx";
import { linkTo } from "../router.ts";
import { useData } from "../use-data.ts";
import { StartAgent } from "../publish/start-agent.tsx";
import { ServiceTraffic } from "./traffic.tsx";
import { destinationOf, destinationsOf, hostOf } from "./services.ts";
import type { Service } from "./services.ts";

const everyMs = 5_000;
/** Maximum number of routes whose rules are shown together. */
const rulesShown = 6;

interface FactsProps {
  readonly service: Service;
  readonly description: Description;
  /** Actions on the access rules. */
  readonly children?: ComponentChildren;
}

export function ServiceFacts({ service, description, children }: FactsProps) {
  const [asked, setAsked] = useState(0);
  useEvery(everyMs, () => setAsked((count) => count + 1), []);
  const found = useData(
    () => destinationsOf(service.backends, description),
    [service.backends.join(), asked, configurationChanges.value],
  );
  const to = destinationOf(service, found.value ?? new Map());
  return (
    <>
      <Failed error={found.error} />
      <div class="service-facts">
        <section class="panel" aria-label="Who may reach it">
          <h2>
            <Icon of={service.access === "everyone" ? LockOpen : Lock} /> Who may reach it
          </h2>
          {service.rules === undefined || service.rules.length < 2 ? (
            <strong>{service.access}</strong>
          ) : (
            <dl class="rules small">
              {service.rules.slice(0, rulesShown).map(({ path, access }) => [
                <dt key={`${path}n`} class="mono cut" title={path}>
                  {path}
                </dt>,
                <dd key={`${path}v`}>{access}</dd>,
              ])}
              {service.rules.length > rulesShown && (
                <dd>{`and ${service.rules.length - rulesShown} more routes below`}</dd>
              )}
            </dl>
          )}
          {children}
        </section>
        <section class="panel" aria-label="Where it leads">
          <h2>
            <Icon of={ArrowRight} /> Where it leads
          </h2>
          {to && (
            <>
              <strong>{to.href === undefined ? to.text : <a href={to.href}>{to.text}</a>}</strong>
              <span class="row small">
                <Dot tone={to.tone} /> {to.state}
              </span>
              {to.wants && <StartAgent labels={to.wants} isServed={false} protocol={service.protocol} />}
            </>
          )}
        </section>
        {service.protocol.startsWith("http") && <RecentRequests service={service} />}
      </div>
      <ServiceTraffic service={service} />
    </>
  );
}

function RecentRequests({ service }: { readonly service: Service }) {
  const host = hostOf(service.addresses[0] ?? "");
  const requests = useData(
    async () => (host === "" ? [] : (await postern.requests.list({ limit: 4, text: host }).page()).items),
    [host, trafficChanges.value],
  );
  return (
    <section class="panel" aria-label="Recent requests">
      <h2>
        <Icon of={Activity} /> Recent requests
      </h2>
      <Failed error={requests.error} />
      {requests.value?.length === 0 && <span class="muted">No recent requests.</span>}
      <ul class="came small">
        {requests.value?.map((one) => (
          <li key={one.id}>
            <a href={linkTo("traffic", one.id)} class="row">
              <Tag tone={statusTone(one.status_code)}>{one.status_code}</Tag>
              <span class="mono cut grow">{`${one.method} ${one.path}`}</span>
              <span class="muted figures">{clockText(new Date(one.ended_at))}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
