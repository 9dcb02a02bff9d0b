/** Requests that have ended at the edge, and what decided each. */
import { useEffect, useState } from "preact/hooks";
import type { Explanation, Request } from "../../../sdk/src/index.ts";
import { Command, Tag, TextInput, Time } from "../ui/elements.tsx";
import { bytesText, clockText, durationText, statusTone } from "../ui/format.ts";
import { curlWithAuthority } from "../ui/shell.ts";
import { explainError, postern } from "./api.ts";
import { Answer } from "./explain.tsx";
import { kindOfId } from "./description.ts";
import type { Description } from "./description.ts";
import { Back } from "./history.tsx";
import { trafficChanges } from "./live.ts";
import { Failed, Head, Id, Outcome } from "./parts.tsx";
import { go, linkTo, place } from "./router.ts";
import { Steps } from "./steps.tsx";
import { useData } from "./use-data.ts";

const outcomes = ["forwarded", "answered", "denied", "failed"];

export function Traffic({ description }: { readonly description: Description }) {
  const [outcome, setOutcome] = useState("");
  const [text, setText] = useState("");
  const [asked, setAsked] = useState("");
  const [pages, setPages] = useState(1);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text.trim()), 250);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => setPages(1), [asked, outcome]);
  const { value, error, again } = useData(
    () => requestsUpTo(pages, outcome, asked),
    [trafficChanges.value, outcome, asked, pages],
  );
  const [id] = place.value.rest;
  const isFiltered = outcome !== "" || asked !== "";
  return (
    <section aria-label="Traffic" class={`split ${id === undefined ? "" : "chosen"}`}>
      <div class="side-list">
        <Head title="Traffic">
          <Tag tone="good">live</Tag>
        </Head>
        <div class="row filters">
          <TextInput
            id="list-filter"
            type="search"
            class="grow"
            aria-label="Filter requests"
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
        </div>
        <Failed error={error} again={again} />
        {value?.items.length === 0 &&
          (isFiltered ? <p class="empty">No request that is kept fits the filter.</p> : <NoTraffic />)}
        <ul class="requests">
          {value?.items.map((one) => (
            <Row key={one.id} request={one} isChosen={one.id === id} />
          ))}
        </ul>
        {value?.more === true && (
          <button type="button" onClick={() => setPages(pages + 1)}>
            Earlier ones
          </button>
        )}
      </div>
      <div class="side-one">
        {id === undefined ? (
          <p class="empty">Choose a request, and see what decided it.</p>
        ) : (
          <Trace id={id} description={description} />
        )}
      </div>
    </section>
  );
}

/** The newest that fit, so many pages of them. */
async function requestsUpTo(
  pages: number,
  outcome: string,
  text: string,
): Promise<{ readonly items: readonly Request[]; readonly more: boolean }> {
  const filter = { ...(outcome !== "" && { outcome }), ...(text !== "" && { text }) };
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
  const url = endpoints.value?.[0]?.public_url;
  return (
    <div class="empty">
      <p>No request has come lately. What is denied or fails is kept for a while, and a sample of the rest.</p>
      {url !== undefined && <Command text={curlWithAuthority(url)} />}
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
        {decider !== undefined && <Tag tone="bad">{decider}</Tag>}
        <span class="muted small figures">{durationText(duration_ms)}</span>
        <span class="muted small figures when">{clockText(new Date(ended_at))}</span>
      </button>
    </li>
  );
}

function Trace({ id, description }: { readonly id: string; readonly description: Description }) {
  const { value: request, error, again } = useData(() => postern.requests.get(id), [id]);
  const [now, setNow] = useState<Explanation>();
  const [failure, setFailure] = useState("");
  if (!request) return <Failed error={error} again={again} />;
  const kind = kindOfId(request.site_id, description);
  const explain = async (): Promise<void> => {
    try {
      const asked = { method: request.method, host: request.host, path: request.path, source_ip: request.source_ip };
      const answer =
        kind === "https_edge"
          ? await postern.edges.https.explain(request.site_id, asked)
          : await postern.endpoints.explain(request.site_id, asked);
      setNow(answer);
      setFailure("");
    } catch (thrown) {
      setFailure(explainError(thrown).message);
    }
  };
  return (
    <article class="column trace">
      <a class="back" href="#/traffic">
        ‹ All requests
      </a>
      <Head title={`${request.method} ${request.host}${request.path}`}>
        <Tag tone={statusTone(request.status_code)}>{request.status_code}</Tag>
        <Outcome outcome={request.outcome} />
      </Head>
      <dl class="facts small">
        <Fact name="Ended">
          <Time at={request.ended_at} />
        </Fact>
        <Fact name="Took">{durationText(request.duration_ms)}</Fact>
        <Fact name="From">{request.source_ip}</Fact>
        <Fact name="In, out">{`${bytesText(request.bytes_in)}, ${bytesText(request.bytes_out)}`}</Fact>
        {request.error_code !== null && <Fact name="Told">{request.error_code}</Fact>}
        <Fact name="Id">
          <Id id={request.id} />
        </Fact>
      </dl>
      <h2>What decided</h2>
      <Steps steps={request.steps} description={description} />
      <div class="row">
        {kind === "https_edge" && (
          <a
            class="button"
            href={linkTo("edges", request.site_id, ...(request.route_id === null ? [] : [request.route_id]))}
          >
            {request.route_id === null ? "The edge" : "The route"}
          </a>
        )}
        <button type="button" onClick={() => void explain()}>
          Explain again with the present configuration
        </button>
        <WayOut request={request} />
      </div>
      <Failed error={failure} />
      {now && (
        <section aria-label="Now" class="column">
          <Answer title="Now it would be" answer={now} description={description} />
        </section>
      )}
    </article>
  );
}

/** What whoever does not want the denial can do at once: admit the address, or take back what decided. */
function WayOut({ request }: { readonly request: Request }) {
  const [goesBack, setGoesBack] = useState(false);
  const denied = request.steps.findLast(({ outcome }) => outcome === "denied");
  const decided = denied?.decided_by;
  if (!denied || !decided) return null;
  const { kind, id, revision } = decided;
  const rule = new URLSearchParams({
    ip_policy_id: id,
    cidr: `${request.source_ip}/${request.source_ip.includes(":") ? 128 : 32}`,
    action: "allow",
  });
  return (
    <>
      {kind === "ip_policy" && (
        <a class="button" href={`${linkTo("objects", "ip_policy_rule", "new")}?${rule.toString()}`}>
          Let {request.source_ip} pass …
        </a>
      )}
      <button type="button" onClick={() => setGoesBack(true)}>
        Go back to before revision {revision} …
      </button>
      {goesBack && <Back revision={revision - 1} onClose={() => setGoesBack(false)} />}
    </>
  );
}

export function Fact({ name, children }: { readonly name: string; readonly children: preact.ComponentChildren }) {
  return (
    <div>
      <dt class="muted">{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
