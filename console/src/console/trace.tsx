/** One finished request: the steps that decided it, and possible changes. */
import { useEffect, useState } from "preact/hooks";
import type { Explanation, Request } from "../../../sdk/src/index.ts";
import { Tag, Time } from "../ui/elements.tsx";
import { bytesText, durationText, statusTone } from "../ui/format.ts";
import { AskAgain } from "./ask-again.tsx";
import { explainError, postern } from "./api.ts";
import { kindOfId } from "./description.ts";
import type * as CapturedModule from "./captured.tsx";
import type { Description } from "./description.ts";
import { Answer } from "./explain.tsx";
import { Fact } from "../exchange/fact.tsx";
import { Back } from "./history.tsx";
import { Failed, Head, Id, Outcome } from "./parts.tsx";
import { linkTo, place } from "./router.ts";
import { countryText } from "../ui/country.ts";
import { Steps } from "./steps.tsx";
import { useData } from "./use-data.ts";

export function Trace({ id, description }: { readonly id: string; readonly description: Description }) {
  const { value: request, error, again } = useData(() => postern.requests.get(id), [id]);
  return request ? <Ended request={request} description={description} /> : <Failed error={error} again={again} />;
}

function Ended({ request, description }: { readonly request: Request; readonly description: Description }) {
  const [now, setNow] = useState<Explanation>();
  const [failure, setFailure] = useState("");
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
  // For users who just changed the cause of the denial, shows the result with the current configuration.
  const asksNow = place.value.query.has("now");
  useEffect(() => {
    if (asksNow) void explain();
  }, [asksNow]);
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
        {request.upstream_ms !== null && <Fact name="Waited upstream">{durationText(request.upstream_ms)}</Fact>}
        {request.tunnel !== null && (
          <Fact name="Served by">
            <a href={linkTo("objects", "tunnel_session", request.tunnel.tunnel_session_id)}>
              {request.tunnel.forwards_to}
            </a>
          </Fact>
        )}
        <Fact name="From">
          {request.source_ip}
          {request.source_country !== null && `, ${countryText(request.source_country)}`}
        </Fact>
        <Fact name="In, out">{`${bytesText(request.bytes_in)}, ${bytesText(request.bytes_out)}`}</Fact>
        {request.error_code !== null && <Fact name="Told">{request.error_code}</Fact>}
        <Fact name="Id">
          <Id id={request.id} />
        </Fact>
        {request.trace_id !== null && (
          <Fact name="Trace ID">
            <Id id={request.trace_id} />
          </Fact>
        )}
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
          Explain again with the current configuration
        </button>
        <WayOut request={request} />
      </div>
      <Failed error={failure} />
      <CapturedPart request={request} />
      {now && (
        <section aria-label="Now" class="column">
          <Answer title="The result would now be" answer={now} description={description} />
          <AskAgain request={request} isOfEdge={kind === "https_edge"} />
        </section>
      )}
    </article>
  );
}

/** Shows quick fixes for a denial: allow the address, or undo the change that caused it. */
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
    next: `traffic/${request.id}?now`,
    review: "now",
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

/** The remaining component is loaded on demand. */
function CapturedPart({ request }: { readonly request: Request }) {
  const [part, setPart] = useState<typeof CapturedModule>();
  const [failure, setFailure] = useState("");
  const isServed = request.tunnel !== null;
  useEffect(() => {
    if (!isServed) return;
    import("./captured.tsx").then(setPart, () =>
      setFailure("This part of the page could not be loaded. Load it again."),
    );
  }, [isServed]);
  if (!isServed && request.outcome !== "forwarded") return null;
  return (
    <section aria-label="Captured" class="column">
      <h2>Captured</h2>
      {!isServed && <p>No agent handled this request, so its headers and body were not captured.</p>}
      <Failed error={failure} />
      {part && <part.Captured request={request} />}
    </section>
  );
}
