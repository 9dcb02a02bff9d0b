/** Finished requests at the edge with the steps that decided them. */
import { useMemo, useState } from "preact/hooks";
import type { Request } from "../../../sdk/src/index.ts";
import { Command, Skeleton, Tag, TextInput } from "../ui/elements.tsx";
import { VirtualList } from "../ui/virtual-list.tsx";
import { clockText, durationText, statusTone } from "../ui/format.ts";
import { curlWithAuthority } from "../ui/shell.ts";
import { postern } from "./api.ts";
import { titleOf } from "./description.ts";
import type { Description } from "./description.ts";
import { Failed, Head, ListFilter } from "./parts.tsx";
import { goTo, place } from "./router.ts";
import { Histogram } from "./traffic-histogram.tsx";
import { Trace } from "./trace.tsx";
import { mostRequests, useRequests } from "./traffic-list.ts";
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
/** Height of a row, pixels. */
const rowHeight = 32;
const outcomes = ["forwarded", "answered", "denied", "failed"];
/** Further conditions: name in the API, label, example. */
const furtherConditions = [
  ["status", "Status", "403"],
  ["module", "Module", "ip_restriction"],
  ["rule", "Rule or object id", "ipr_…"],
  ["source_ip", "Address", "192.0.2.1"],
  ["user", "Visitor", "ada@example.com"],
] as const;
type Further = Readonly<Record<(typeof furtherConditions)[number][0], string>>;
const anything: Further = { status: "", module: "", rule: "", source_ip: "", user: "" };
/** Why a list may lack captured requests. */
const whyIncomplete: Readonly<Record<string, string>> = {
  busy: "Too many searches are running, so captured requests are missing here. Try again later.",
  failed: "A node could not read its captured requests, so some are missing here.",
  silent: "An edge did not answer, so its requests are missing here.",
  time: "The search took long. Earlier requests follow on the next page.",
};

export function Traffic({ description }: { readonly description: Description }) {
  const [outcome, setOutcome] = useState("");
  const [text, setText] = useState("");
  const asked = useSettled(text.trim());
  const [since, setSince] = useState("");
  const [path, setPath] = useState("");
  const askedPath = useSettled(path.trim());
  const [further, setFurther] = useState(anything);
  const conditions = useSettled(JSON.stringify(further));
  const filter = { outcome, text: asked, since, path: askedPath, ...(JSON.parse(conditions) as Further) };
  const { items, hasMore, incomplete, error, again, more } = useRequests(filter);
  const [id] = place.value.rest;
  const histogram = useMemo(() => items && <Histogram requests={items} />, [items]);
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
        <details>
          <summary class="small">More conditions</summary>
          <div class="row filters">
            {furtherConditions.map(([name, label, example]) => (
              <TextInput
                key={name}
                id={`traffic-${name}`}
                class="grow"
                type="search"
                aria-label={label}
                placeholder={`${label}: ${example}`}
                value={further[name]}
                onText={(given) => setFurther({ ...further, [name]: given.trim() })}
              />
            ))}
          </div>
        </details>
        {histogram}
        <Failed error={error} again={again} />
        {incomplete && (
          <p class="notice warn" role="status">
            {whyIncomplete[incomplete.reason]}
          </p>
        )}
        {items?.length === 0 &&
          (isFiltered ? <p class="empty">No stored request matches the filter.</p> : <NoTraffic />)}
        {items === undefined && error === "" && <Skeleton lines={8} />}
        {items !== undefined && items.length > 0 && (
          <VirtualList
            label="Requests"
            items={items}
            rowHeight={rowHeight}
            chosenId={id}
            row={(one) => <Row request={one} isChosen={one.id === id} />}
            onEnd={() => hasMore && more()}
          />
        )}
        {hasMore && (
          <button type="button" disabled={(items?.length ?? 0) >= mostRequests} onClick={more}>
            {(items?.length ?? 0) >= mostRequests ? "Filter to find earlier requests" : "Show earlier requests"}
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
    <button type="button" aria-current={isChosen} onClick={() => goTo(`traffic/${id}`)}>
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
  );
}
