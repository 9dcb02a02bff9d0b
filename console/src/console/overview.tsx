/** The overview page: problems, traffic over time, and connected agents. */
import { ChartColumn, Table } from "lucide";
import { useState } from "preact/hooks";
import type { Endpoint, Request } from "../../../sdk/src/index.ts";
import { Command, Tag } from "../ui/elements.tsx";
import { Icon } from "../ui/icon.tsx";
import { visitedUrl } from "../ui/visited-url.ts";
import { postern } from "./api.ts";
import { titleOf } from "./description.ts";
import { configurationChanges, trafficChanges, useEvery } from "./live-changes.ts";
import { Agents } from "./overview/agents.tsx";
import { Checklist } from "./overview/checklist.tsx";
import { DeadLetters } from "./overview/dead-letters.tsx";
import { Expiring } from "./overview/expiring.tsx";
import { OverTime } from "./overview/over-time.tsx";
import { Reasons } from "./overview/reasons.tsx";
import { Services } from "./overview/services.tsx";
import "./overview/overview.css";
import { Failed, Head, Outcome } from "./parts.tsx";
import { Problems } from "./problems.tsx";
import { linkTo } from "./router.ts";
import { loadSeries, periods } from "./series.ts";
import type { Loaded, Metric, Period } from "./series.ts";
import { linkToService } from "./services/services.ts";
import type { Service } from "./services/services.ts";
import { useData } from "./use-data.ts";

const urlsShown = 12;
const allMetrics: readonly Metric[] = ["requests", "errors", "denied", "connections", "latency_p50", "latency_p95"];
const ofServices: readonly Metric[] = ["requests", "errors", "connections", "latency_p95"];

export function Overview() {
  const [period, setPeriod] = useState<Period>("hour");
  const [asTable, setAsTable] = useState(false);
  const [asked, setAsked] = useState(0);
  useEvery(periods[period].everyMs, () => setAsked((count) => count + 1), [period]);
  const counts = useData(async () => {
    const [endpoints, edges] = await Promise.all([
      postern.endpoints.list({ limit: urlsShown }).page(),
      postern.edges.https.list({ limit: 2 }).page(),
    ]);
    return { endpoints: endpoints.items, edges: edges.items };
  }, [configurationChanges.value, Math.floor(trafficChanges.value / 5)]);
  const history = useData(async () => await loadHistory(period), [period, asked]);
  const requests = useData(
    async () => (await postern.requests.list({ limit: 1 }).page()).items,
    [trafficChanges.value],
  );
  const troubles = useData(loadLatestTroubles, [trafficChanges.value]);
  const { value } = counts;
  // While another period loads, the previous one remains visible.
  const shown = history.value;
  const denied = (troubles.value ?? []).some(({ outcome }) => outcome === "denied");
  const isNew = value !== undefined && (value.edges.length === 0 || (value.edges.length === 1 && !denied));
  return (
    <section class="column overview" aria-label="Overview">
      <Head title="Overview">
        <button type="button" class="plain" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          <Icon of={asTable ? ChartColumn : Table} /> {asTable ? "Show charts" : "Show as tables"}
        </button>
        <PeriodChoice chosen={period} onChoose={setPeriod} />
      </Head>
      <Failed error={counts.error || history.error || troubles.error || requests.error} again={counts.again} />
      {isNew && (
        <Checklist
          url={value.endpoints[0] && visitedUrl(value.endpoints[0].public_url)}
          hasSeen={(requests.value?.length ?? 0) > 0}
          edgeId={value.edges[0]?.id}
          hasDenied={denied}
        />
      )}
      <Problems />
      {shown ? (
        <>
          <OverTime loaded={shown.all} period={shown.period} asTable={asTable} />
          <Services loaded={shown.services} />
        </>
      ) : (
        <div class="charts" aria-hidden="true">
          {["requests", "errors", "latency"].map((one) => (
            <div key={one} class="panel waiting" />
          ))}
        </div>
      )}
      <div class="boards">
        <Troubles requests={troubles.value} />
        {shown && <Reasons loaded={shown.reasons} period={shown.period} />}
        <Urls endpoints={value?.endpoints} />
        <Agents />
        <DeadLetters />
        <Expiring />
      </div>
    </section>
  );
}

interface History {
  readonly period: Period;
  readonly all: Loaded;
  readonly services: Loaded;
  readonly reasons: Loaded;
}

async function loadHistory(period: Period): Promise<History> {
  const [all, services, reasons] = await Promise.all([
    loadSeries(period, allMetrics),
    loadSeries(period, ofServices, "service"),
    loadSeries(period, ["refused"], "reason"),
  ]);
  return { period, all, services, reasons };
}

interface PeriodChoiceProps {
  readonly chosen: Period;
  onChoose(period: Period): void;
}

function PeriodChoice({ chosen, onChoose }: PeriodChoiceProps) {
  return (
    <div class="choice" role="group" aria-label="Period">
      {(Object.keys(periods) as Period[]).map((one) => (
        <button key={one} type="button" aria-pressed={one === chosen} onClick={() => onChoose(one)}>
          {`Last ${one}`}
        </button>
      ))}
    </div>
  );
}

function Troubles({ requests }: { readonly requests: readonly Request[] | undefined }) {
  return (
    <section class="panel" aria-label="Denied and failed">
      <header>
        <h2 class="grow">Denied and failed</h2>
        <a href="#/traffic">All traffic</a>
      </header>
      {requests?.length === 0 && <p class="inside muted">No denied or failed requests.</p>}
      <ul class="plain-list">
        {requests?.map((one) => (
          <li key={one.id}>
            <a href={linkTo("traffic", one.id)} class="row">
              <Outcome outcome={one.outcome} />
              <span class="mono cut grow">{`${one.method} ${one.host}${one.path}`}</span>
              <span class="muted small">{deciderOf(one) ?? one.status_code}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Returns the link to the page of the endpoint's service. */
function linkOf({ id, edge }: Endpoint): string {
  const kind = edge && /\/edges\/(https|tls|tcp)\//.exec(edge.uri)?.[1];
  return edge && kind
    ? linkToService({ kind: `${kind}_edge` as Service["kind"], id: edge.id })
    : linkToService({ kind: "endpoint", id });
}

function Urls({ endpoints }: { readonly endpoints: readonly Endpoint[] | undefined }) {
  return (
    <section class="panel" aria-label="Services">
      <header>
        <h2 class="grow">Services</h2>
        <a href="#/publish">Publish a service</a>
      </header>
      {endpoints?.length === 0 && (
        <div class="empty">
          <p>Nothing is published. To publish the service on port 3000:</p>
          <Command text="npx postern http 3000" />
          <a href="#/invite">Publish from another machine</a>
        </div>
      )}
      <ul class="plain-list">
        {endpoints?.map((one) => (
          <li key={one.id} class="row">
            <a class="grow cut" href={linkOf(one)}>
              {one.public_url.replace(/^https:\/\//, "")}
            </a>
            <Tag>{one.type === "ephemeral" ? "agent" : one.type}</Tag>
            {/^https?:/.test(one.public_url) && (
              <a
                class="button plain tiny"
                href={visitedUrl(one.public_url)}
                target="_blank"
                rel="noreferrer"
                aria-label={`Open ${one.public_url}`}
              >
                ↗
              </a>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Returns the name of the module that denied the request. */
function deciderOf({ steps }: Request): string | undefined {
  const by = steps.findLast((step) => step.outcome === "denied")?.by;
  return by === undefined ? undefined : titleOf(by);
}

const troublesShown = 8;

/** Returns the newest requests that were denied or failed. The server searches all stored requests for each outcome. */
async function loadLatestTroubles(): Promise<readonly Request[]> {
  const pages = await Promise.all(
    ["denied", "failed"].map((outcome) => postern.requests.list({ limit: troublesShown, outcome }).page()),
  );
  const found = pages.flatMap(({ items }) => items);
  return found.sort((one, other) => (one.ended_at < other.ended_at ? 1 : -1)).slice(0, troublesShown);
}
