/** One webhook of an inbox: its attempts as a timeline, its payload, and what to do with it. */
import { useState } from "preact/hooks";
import { Tag, Time } from "../ui/elements.tsx";
import { durationText } from "../ui/format.ts";
import { explainError, postern } from "./api.ts";
import { Failed } from "./parts.tsx";
import { linkTo } from "./router.ts";
import { useData } from "./use-data.ts";

export function Message({ id, tick }: { readonly id: string; readonly tick: number }) {
  const { value, error, again } = useData(() => postern.inboxMessages.get(id), [id, tick]);
  const [failed, setFailed] = useState("");
  if (value === undefined) return <Failed error={error} again={again} />;
  const act = (verb: "deliver" | "discard"): void =>
    void postern.inboxMessages[verb](id).then(again, (failure: unknown) => setFailed(explainError(failure).message));
  return (
    <article aria-label="Webhook">
      <header class="row">
        <h2 class="grow mono cut">
          {value.method} {value.path}
        </h2>
        <button type="button" onClick={() => act("deliver")}>
          Deliver now
        </button>
        <button type="button" onClick={() => act("discard")}>
          Discard
        </button>
      </header>
      <Failed error={failed} />
      <dl class="facts">
        <dt>State</dt>
        <dd>{value.state}</dd>
        <dt>Received</dt>
        <dd>
          <Time at={value.received_at} />
        </dd>
        {value.next_attempt_at !== null && (
          <>
            <dt>Next attempt</dt>
            <dd>
              <Time at={value.next_attempt_at} />
            </dd>
          </>
        )}
        <dt>Event</dt>
        <dd>{[value.provider, value.event_type].filter((one) => one !== "").join(" ") || "unknown"}</dd>
        <dt>Route</dt>
        <dd>
          <a href={linkTo("objects", "https_edge_route", value.route_id)}>{value.route_id}</a>
        </dd>
        <dt>Request</dt>
        <dd>
          <a href={linkTo("traffic", value.request_id)}>{value.request_id}</a>
        </dd>
        {value.error !== null && (
          <>
            <dt>Last error</dt>
            <dd>{value.error}</dd>
          </>
        )}
      </dl>
      <h3>Attempts</h3>
      {value.attempt_list.length === 0 && <p class="muted">No attempt has reached the service.</p>}
      <ol class="plain-list">
        {value.attempt_list.map((one) => (
          <li key={one.number} class="row">
            <span>{one.number}</span>
            <Time at={one.at} />
            <Tag tone={isFine(one.status_code) ? "good" : "bad"}>{one.status_code ?? one.error ?? "none"}</Tag>
            <span class="small">{durationText(one.duration_ms)}</span>
          </li>
        ))}
      </ol>
      <Payload id={id} />
    </article>
  );
}

function isFine(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** Loaded only on request, because it may contain personal data. */
function Payload({ id }: { readonly id: string }) {
  const [isShown, setShown] = useState(false);
  const { value, error } = useData(
    async () => (isShown ? await postern.inboxMessages.payload.get(id) : undefined),
    [id, isShown],
  );
  if (!isShown) {
    return (
      <button type="button" onClick={() => setShown(true)}>
        Show the payload
      </button>
    );
  }
  return (
    <section aria-label="Payload">
      <h3>Payload</h3>
      <Failed error={error} />
      {value && (
        <>
          <pre class="mono">{value.headers.map((one) => `${one.name}: ${one.value}`).join("\n")}</pre>
          <pre class="mono">{value.is_base64 ? `base64: ${value.body}` : formatted(value.body)}</pre>
        </>
      )}
    </section>
  );
}

function formatted(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), undefined, 2);
  } catch {
    return body;
  }
}
