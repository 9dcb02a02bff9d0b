/** Events: destinations and their state, subscriptions, and recently sent events. */
import { useState } from "preact/hooks";
import type { EventDestination } from "../../../sdk/src/index.ts";
import { Copy, Tag, Time } from "../ui/elements.tsx";
import type { Tone } from "../ui/format.ts";
import { postern } from "./api.ts";
import { configurationChanges, useEvery } from "./live-changes.ts";
import { Failed, Head, Id } from "./parts.tsx";
import { linkTo, place } from "./router.ts";
import { useData } from "./use-data.ts";

const tones: Readonly<Record<string, Tone>> = {
  idle: "good",
  delivering: "info",
  retrying: "warn",
  unsupported: "bad",
};
const everyMs = 5_000;

export function Events() {
  const [asked, setAsked] = useState(0);
  useEvery(everyMs, () => setAsked((count) => count + 1), []);
  const [chosen] = place.value.rest;
  const destinations = useData(
    async () => (await postern.eventDestinations.list({ limit: 100 }).page()).items,
    [configurationChanges.value, asked],
  );
  const subscriptions = useData(
    async () => (await postern.eventSubscriptions.list({ limit: 100 }).page()).items,
    [configurationChanges.value],
  );
  const { value } = destinations;
  return (
    <section class="column" aria-label="Events">
      <Head title="Events" doc="Events sent to your services: every write in order, and traffic as it happens.">
        <a class="button" href={linkTo("objects", "event_subscription", "new")}>
          New subscription
        </a>
        <a class="button primary" href={linkTo("objects", "event_destination", "new")}>
          New destination
        </a>
      </Head>
      <Failed error={destinations.error || subscriptions.error} again={destinations.again} />
      {value?.length === 0 && (
        <div class="empty">
          <p>
            A destination receives events: a webhook, a file, or a cloud service. A subscription selects the events. You
            have no destinations yet.
          </p>
          <a class="button primary" href={linkTo("objects", "event_destination", "new")}>
            Create the first destination
          </a>
        </div>
      )}
      <ul class="cards">
        {value?.map((one) => (
          <Destination key={one.id} destination={one} isChosen={one.id === chosen} />
        ))}
      </ul>
      {subscriptions.value && subscriptions.value.length > 0 && (
        <section class="panel" aria-label="Subscriptions">
          <header>
            <h2>Subscriptions</h2>
          </header>
          <ul class="plain-list">
            {subscriptions.value.map((one) => (
              <li key={one.id} class="row">
                <a class="grow" href={linkTo("objects", "event_subscription", one.id)}>
                  {one.description || one.id}
                </a>
                <span class="muted small">
                  {one.sources.map(({ type }) => type).join(", ")} to {one.destinations.length}{" "}
                  {one.destinations.length === 1 ? "destination" : "destinations"}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {chosen !== undefined && <Tail id={chosen} asked={asked} />}
    </section>
  );
}

function Destination({
  destination,
  isChosen,
}: {
  readonly destination: EventDestination;
  readonly isChosen: boolean;
}) {
  const { id, description, target, delivery } = destination;
  const [kind] = Object.entries(target).find(([, value]) => value !== null) ?? ["nowhere"];
  return (
    <li class="panel">
      <span class="row">
        <a class="grow" href={linkTo("objects", "event_destination", id)}>
          <strong>{description || id}</strong>
        </a>
        <Tag tone={tones[delivery.state] ?? ""}>{delivery.state}</Tag>
      </span>
      <span class="muted small">
        {kind}; {delivery.delivered} delivered, {delivery.dropped} given up
        {delivery.last_delivered_at !== null && (
          <>
            , last <Time at={delivery.last_delivered_at} />
          </>
        )}
      </span>
      {delivery.error !== "" && <span class="notice bad">{delivery.error}</span>}
      <a href={isChosen ? "#/events" : linkTo("events", id)} aria-current={isChosen ? "true" : undefined}>
        {isChosen ? "Stop watching" : "Watch sent events"}
      </a>
    </li>
  );
}

/** Shows the sent events, newest first. */
function Tail({ id, asked }: { readonly id: string; readonly asked: number }) {
  const { value, error } = useData(async () => (await postern.eventDestinations.events.get(id)).events, [id, asked]);
  return (
    <section class="panel" aria-label="Sent recently">
      <header>
        <h2 class="grow">Sent recently</h2>
        <Tag tone="good">live</Tag>
      </header>
      <Failed error={error} />
      {value?.length === 0 && <p class="inside muted">No events sent since the server started.</p>}
      <ol class="plain-list">
        {value?.map((one) => (
          <li key={one.id}>
            <details>
              <summary>
                <Tag>{one.type}</Tag> <Time at={one.time} />
              </summary>
              <div class="inside column">
                <div class="row">
                  <Id id={one.id} />
                  <Copy text={one.body} kind="tiny">
                    Copy
                  </Copy>
                </div>
                <pre class="sunken">{indentJson(one.body)}</pre>
              </div>
            </details>
          </li>
        ))}
      </ol>
    </section>
  );
}

function indentJson(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), undefined, 2);
  } catch {
    return body;
  }
}
