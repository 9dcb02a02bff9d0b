/** Finished requests at the edge with the steps that decided them. */
import { useEffect, useState } from "preact/hooks";
import type { Request } from "../../../sdk/src/index.ts";
import { Command, Tag } from "../ui/elements.tsx";
import { clockText, durationText, statusTone } from "../ui/format.ts";
import { curlWithAuthority } from "../ui/shell.ts";
import { postern } from "./api.ts";
import { titleOf } from "./description.ts";
import type { Description } from "./description.ts";
import { trafficChanges } from "./live.ts";
import { Failed, Head, ListFilter } from "./parts.tsx";
import { go, place } from "./router.ts";
import { Histogram } from "./traffic-histogram.tsx";
import { Trace } from "./trace.tsx";
import { useData, useSettled } from "./use-data.ts";
import { visitedUrl } from "../ui/visited-url.ts";

/** Time ranges by the text of `since`. */
const ranges = [
  ["", "All times"],
  ["15m", "Last 15 minutes"],
  ["1h", "Last hour"],
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
] as const;
const outcomes = ["forwarded", "answered", "denied", "failed"];

export function Traffic({ description }: { readonly description: Description }) {
  const [outcome, setOutcome] = useState("");
  const [text, setText] = useState("");
  const asked = useSettled(text.trim());
  const [since, setSince] = useState("");
  const [path, setPath] = useState("");
  const askedPath = useSettled(path.trim());
  const filter = { outcome, text: asked, since, path: askedPath };
  const [pages, setPages] = useState(1);
  useEffect(() => setPages(1), [asked, outcome, since, askedPath]);
  const { value, error, again } = useData(
    () => requestsUpTo(pages, filter),
    [trafficChanges.value, outcome, asked, since, askedPath, pages],
  );
  const [id] = place.value.rest;
  const isFiltered = Object.values(filter).some((one) => one !== "");
  return (
    <section aria-label="Traffic" class={`split ${id === undefined ? "" : "chosen"}`}>
      <div class="side-list">
        <Head title="Traffic">
          <Tag tone="good">live</Tag>
        </Head>
        <div class="row filters">
          <ListFilter
            class="grow"
            label="Filter requests"
            placeholder="Host, path, address, status"
            value={text}
            onText={setText}
          />
          <select aria-label="Outcome" value={outcome} onChange={(event) => setOutcome(event.currentTarget.value)}>
            <option value="">All outcomes</option>
            {outcomes.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
          <select aria-label="Time range" value={since} onChange={(event) => setSince(event.currentTarget.value)}>
            {ranges.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
          <ListFilter class="grow" label="Path" placeholder="/path or /path*" value={path} onText={setPath} />
        </div>
        {value !== undefined && <Histogram requests={value.items} />}
        <Failed error={error} again={again} />
        {value?.items.length === 0 &&
          (isFiltered ? <p class="empty">No stored request matches the filter.</p> : <NoTraffic />)}
        <ul class="requests">
          {value?.items.map((one) => (
            <Row key={one.id} request={one} isChosen={one.id === id} />
          ))}
        </ul>
        {value?.more === true && (
          <button type="button" onClick={() => setPages(pages + 1)}>
            Show earlier requests
          </button>
        )}
      </div>
      <div class="side-one">
        {id === undefined ? (
          <p class="empty">Choose a request to see its decision.</p>
        ) : (
          <Trace key={id} id={id} description={description} />
        )}
      </div>
    </section>
  );
}

/** Returns the newest matching requests, up to a number of pages. */
async function requestsUpTo(
  pages: number,
  wanted: Readonly<Record<"outcome" | "text" | "since" | "path", string>>,
): Promise<{ readonly items: readonly Request[]; readonly more: boolean }> {
  const filter = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== ""));
  const items: Request[] = [];
  let before: string | undefined;
  for (let at = 0; at < pages; at += 1) {
    const options = { limit: 100, ...filter, ...(before !== undefined && { before_id: before }) };
    const page = await postern.requests.list(options).page();
    items.push(...page.items);
    before = page.nextBeforeId;
    if (before === undefined) break;
  }
  return { items, more: before !== undefined };
}

function NoTraffic() {
  const endpoints = useData(async () => (await postern.endpoints.list({ limit: 10 }).page()).items, []);
  const first = endpoints.value?.[0]?.public_url;
  const url = first && visitedUrl(first);
  return (
    <div class="empty">
      <p>No recent requests. Postern keeps denied and failed requests, and a sample of successful ones.</p>
      {endpoints.value && url === undefined && <p>Nothing is published. To publish the service on port 3000:</p>}
      {endpoints.value && <Command text={url === undefined ? "npx postern http 3000" : curlWithAuthority(url)} />}
    </div>
  );
}

function Row({ request, isChosen }: { readonly request: Request; readonly isChosen: boolean }) {
  const { id, method, host, path, status_code, ended_at, duration_ms } = request;
  const decider = request.steps.findLast((one) => one.outcome === "denied")?.by;
  return (
    <li class="arrives">
      <button type="button" aria-current={isChosen} onClick={() => go(`traffic/${id}`)}>
        <Tag tone={statusTone(status_code)}>{status_code === 0 ? "none" : status_code}</Tag>
        <span class="mono method">{method}</span>
        <span class="mono cut grow" title={`${host}${path}`}>
          {host}
          {path}
        </span>
        {decider !== undefined && <Tag tone="bad">{titleOf(decider)}</Tag>}
        <span class="muted small figures">{durationText(duration_ms)}</span>
        <span class="muted small figures when">{clockText(new Date(ended_at))}</span>
      </button>
    </li>
  );
}
