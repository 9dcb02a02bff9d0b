/** Overview: problems first, then traffic, then objects. */
import { useState } from "preact/hooks";
import type { Request } from "../../../sdk/src/index.ts";
import { Command, Tag } from "../ui/elements.tsx";
import { durationText } from "../ui/format.ts";
import { curlWithAuthority } from "../ui/shell.ts";
import { postern } from "./api.ts";
import { configurationChanges, trafficChanges, useEvery } from "./live.ts";
import { percentile, readMetrics } from "./metrics.ts";
import type { Metrics } from "./metrics.ts";
import { Failed, Head, Outcome } from "./parts.tsx";
import { Step } from "./published.tsx";
import { linkTo } from "./router.ts";
import { Problems } from "./problems.tsx";
import { useData } from "./use-data.ts";
import { visitedUrl } from "../ui/visited-url.ts";

const urlsShown = 12;

export function Overview() {
  const counts = useData(async () => {
    const [endpoints, sessions, edges, tunnels] = await Promise.all([
      postern.endpoints.list({ limit: urlsShown }).page(),
      postern.tunnelSessions.list({ limit: 100 }).page(),
      postern.edges.https.list({ limit: 2 }).page(),
      postern.tunnels.list({ limit: 100 }).page(),
    ]);
    return { endpoints: endpoints.items, sessions: sessions.items, edges: edges.items, tunnels: tunnels.items };
  }, [configurationChanges.value, Math.floor(trafficChanges.value / 5)]);
  const requests = useData(
    async () => (await postern.requests.list({ limit: 100 }).page()).items,
    [trafficChanges.value],
  );
  const troubles = useData(latestTroubles, [trafficChanges.value]);
  const { value } = counts;
  const denied = (troubles.value ?? []).some(({ outcome }) => outcome === "denied");
  const isNew = value !== undefined && (value.edges.length === 0 || (value.edges.length === 1 && !denied));
  return (
    <section class="column" aria-label="Overview">
      <Head title="Overview" />
      <Failed error={counts.error || requests.error || troubles.error} again={counts.again} />
      {isNew && (
        <Checklist
          url={value.endpoints[0] && visitedUrl(value.endpoints[0].public_url)}
          hasSeen={(requests.value?.length ?? 0) > 0}
          edgeId={value.edges[0]?.id}
          hasDenied={denied}
        />
      )}
      <Problems />
      <Numbers durations={requests.value?.map((one) => one.duration_ms) ?? []} />
      <div class="two">
        <section class="panel" aria-label="Denied and failed">
          <header>
            <h2 class="grow">Denied and failed</h2>
            <a href="#/traffic">All traffic</a>
          </header>
          {troubles.value?.length === 0 && <p class="inside muted">None lately.</p>}
          <ul class="plain-list">
            {troubles.value?.map((one) => (
              <li key={one.id}>
                <a href={linkTo("traffic", one.id)} class="row">
                  <Outcome outcome={one.outcome} />
                  <span class="mono cut grow">{`${one.method} ${one.host}${one.path}`}</span>
                  <span class="muted small">
                    {one.steps.findLast((step) => step.outcome === "denied")?.by ?? one.status_code}
                  </span>
                </a>
              </li>
            ))}
          </ul>
        </section>
        <section class="panel" aria-label="Public URLs">
          <header>
            <h2 class="grow">Public URLs</h2>
            <a href="#/publish">Publish a service</a>
          </header>
          {value?.endpoints.length === 0 && (
            <div class="empty">
              <p>Nothing is published. To publish the service on port 3000:</p>
              <Command text="npx postern http 3000" />
              <a href="#/invite">Publish from another machine</a>
            </div>
          )}
          <ul class="plain-list">
            {value?.endpoints.map((one) => (
              <li key={one.id} class="row">
                <Tag>{one.type === "ephemeral" ? "agent" : one.type}</Tag>
                <a class="grow cut" href={visitedUrl(one.public_url)} target="_blank" rel="noreferrer">
                  {one.public_url}
                </a>
              </li>
            ))}
          </ul>
        </section>
      </div>
      {value && (
        <p class="muted small">
          <a href="#/objects/tunnel_session">{several(value.sessions.length, "agent")}</a>,{" "}
          <a href="#/objects/tunnel">{several(value.tunnels.length, "tunnel")}</a>,{" "}
          <a href="#/edges">
            {value.edges.length === 2 ? "several HTTPS edges" : several(value.edges.length, "HTTPS edge")}
          </a>
          .
        </p>
      )}
    </section>
  );
}

const troublesShown = 8;

/** Returns the newest requests that were denied or failed. The server searches all stored requests for each outcome. */
async function latestTroubles(): Promise<readonly Request[]> {
  const pages = await Promise.all(
    ["denied", "failed"].map((outcome) => postern.requests.list({ limit: troublesShown, outcome }).page()),
  );
  const found = pages.flatMap(({ items }) => items);
  return found.sort((one, other) => (one.ended_at < other.ended_at ? 1 : -1)).slice(0, troublesShown);
}

function several(count: number, what: string): string {
  return `${count === 100 ? "100 or more" : count} ${what}${count === 1 ? "" : "s"}`;
}

interface ChecklistProps {
  readonly url: string | undefined;
  readonly hasSeen: boolean;
  /** Id of the published edge. */
  readonly edgeId: string | undefined;
  readonly hasDenied: boolean;
}

/** Steps for a new server. */
function Checklist({ url, hasSeen, edgeId, hasDenied }: ChecklistProps) {
  const hasOwn = edgeId !== undefined;
  return (
    <section class="panel" aria-label="First steps">
      <header>
        <h2>First steps</h2>
      </header>
      <ol class="checklist">
        <Step number={1} isDone={hasSeen} title="See a service answer">
          {url === undefined ? (
            <>
              <span class="muted">Nothing is published yet. To publish the service on port 3000:</span>
              <Command text="npx postern http 3000" />
            </>
          ) : (
            <>
              <span>
                <a class="button" href={url} target="_blank" rel="noreferrer">
                  Open {url.replace("https://", "")} ↗
                </a>
              </span>
              <span class="muted small">
                If your browser warns about the certificate, trust this server&apos;s certificate authority:{" "}
                <code>npx postern ca --install</code> makes this machine trust it. Or use a terminal:
              </span>
              <Command text={curlWithAuthority(url)} />
            </>
          )}
        </Step>
        <Step number={2} isDone={hasOwn} title="Publish your own port with access rules">
          <span>Choose a name, who has access, and how visitors log in.</span>
          <span>
            {hasOwn ? (
              <a class="button" href={linkTo("publish", edgeId)}>
                Continue
              </a>
            ) : (
              <a class="button primary" href="#/publish">
                Publish a service
              </a>
            )}
          </span>
        </Step>
        <Step number={3} isDone={hasDenied} title="See why a request was denied, and allow it">
          <span>
            <a href="#/traffic">Traffic</a> shows the decision for each request; <a href="#/history">History</a> undoes
            any change.
          </span>
        </Step>
      </ol>
    </section>
  );
}

interface Point {
  readonly perSecond: number;
  readonly errors: number;
}

const everyMs = 5_000;
const mostPoints = 60;

/** Shows the server's metrics every 5 s; nothing if this address may not read them. */
function Numbers({ durations }: { readonly durations: readonly number[] }) {
  const [points, setPoints] = useState<readonly Point[]>([]);
  const [now, setNow] = useState<Metrics>();
  const [last] = useState<{ metrics?: Metrics; at: number }>({ at: 0 });
  useEvery(
    everyMs,
    () =>
      void postern.getMetrics().then(
        (text) => {
          const metrics = readMetrics(text as unknown as string);
          const at = performance.now();
          const before = last.metrics;
          if (before) {
            const seconds = (at - last.at) / 1_000;
            const point = {
              perSecond: Math.max(0, metrics.requests - before.requests) / seconds,
              errors: Math.max(0, metrics.errors - before.errors) / seconds,
            };
            setPoints((all) => [...all, point].slice(-mostPoints));
          }
          Object.assign(last, { metrics, at });
          setNow(metrics);
        },
        () => setNow(undefined),
      ),
    [],
  );
  if (!now) return null;
  const [p50, p99] = [percentile(durations, 0.5), percentile(durations, 0.99)];
  const latest = points.at(-1);
  return (
    <section class="numbers" aria-label="Numbers">
      <Figure
        name="Requests per second"
        value={latest ? latest.perSecond.toFixed(1) : "…"}
        points={points.map((one) => one.perSecond)}
      />
      <Figure
        name="Errors per second"
        value={latest ? latest.errors.toFixed(1) : "…"}
        points={points.map((one) => one.errors)}
      />
      <Figure
        name="p50 and p99 of sampled requests"
        value={p50 === undefined ? "…" : `${durationText(p50)}, ${durationText(p99 ?? p50)}`}
      />
      <Figure name="Connections, agents" value={`${now.connections}, ${now.agents}`} />
    </section>
  );
}

function Figure({
  name,
  value,
  points = [],
}: {
  readonly name: string;
  readonly value: string;
  readonly points?: readonly number[];
}) {
  const most = Math.max(1, ...points);
  const line = points.map((one, at) => `${(at / (mostPoints - 1)) * 100},${30 - (one / most) * 28}`).join(" ");
  return (
    <div class="panel figure">
      <span class="muted small">{name}</span>
      <strong>{value}</strong>
      {points.length > 1 && (
        <svg
          viewBox="0 0 100 30"
          preserveAspectRatio="none"
          role="img"
          aria-label={`${name}, the last ${Math.round((points.length * everyMs) / 60_000)} minutes, at most ${most.toFixed(1)}`}
        >
          <polyline points={line} />
        </svg>
      )}
    </div>
  );
}
