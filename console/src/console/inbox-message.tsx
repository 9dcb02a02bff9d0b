/** One webhook of an inbox: its timeline, its payload, and what to do with it. */
import { useState } from "preact/hooks";
import { Tag, Time } from "../ui/elements.tsx";
import { durationText } from "../ui/format.ts";
import { explainError, postern } from "./api.ts";
import type { Description } from "./description.ts";
import { Payload } from "./inbox-payload.tsx";
import { Name } from "./named.tsx";
import { Failed } from "./parts.tsx";
import { linkTo } from "./router.ts";
import { useData } from "./use-data.ts";

interface MessageProps {
  readonly id: string;
  readonly tick: number;
  readonly description: Description;
}

export function Message({ id, tick, description }: MessageProps) {
  const { value, error, again } = useData(() => postern.inboxMessages.get(id), [id, tick]);
  const [failed, setFailed] = useState("");
  if (value === undefined) return <Failed error={error} again={again} />;
  const act = (verb: "deliver" | "discard"): void =>
    void postern.inboxMessages[verb](id).then(again, (failure: unknown) => setFailed(explainError(failure).message));
  return (
    <article class="column" aria-label="Webhook">
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
      <dl class="pairs">
        <dt>State</dt>
        <dd>{value.state}</dd>
        <dt>Event</dt>
        <dd>{[value.provider, value.event_type].filter((one) => one !== "").join(" ") || "unknown"}</dd>
        <dt>Route</dt>
        <dd>
          <Name id={value.route_id} description={description} />
        </dd>
        <dt>Request</dt>
        <dd>
          <a href={linkTo("traffic", value.request_id)} title={value.request_id}>
            The decision about it
          </a>
        </dd>
        {value.error !== null && (
          <>
            <dt>Last error</dt>
            <dd>{value.error}</dd>
          </>
        )}
      </dl>
      <h3>Timeline</h3>
      <ol class="plain-list" aria-label="Timeline">
        <li class="row">
          <Time at={value.received_at} />
          <span class="grow">received</span>
        </li>
        {value.attempt_list.map((one) => (
          <li key={one.number} class="row">
            <Time at={one.at} />
            <span class="grow">attempt {one.number}</span>
            <Tag tone={isFine(one.status_code) ? "good" : "bad"}>{one.status_code ?? one.error ?? "none"}</Tag>
            <span class="small">{durationText(one.duration_ms)}</span>
          </li>
        ))}
        {value.ended_at !== null && (
          <li class="row">
            <Time at={value.ended_at} />
            <span class="grow">{value.state}</span>
          </li>
        )}
        {value.next_attempt_at !== null && (
          <li class="row">
            <Time at={value.next_attempt_at} />
            <span class="grow">next attempt</span>
          </li>
        )}
      </ol>
      {value.attempt_list.length === 0 && <p class="muted">No attempt has reached the service.</p>}
      <Payload id={id} />
    </article>
  );
}

function isFine(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}
