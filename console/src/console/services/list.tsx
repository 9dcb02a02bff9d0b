/** All public addresses: who may reach each of them, where it leads, its state, and its last request. */
import { Globe, Lock, LockOpen, Plus } from "lucide";
import { useState } from "preact/hooks";
import type { Request } from "../../../../sdk/src/index.ts";
import { Dot, Skeleton, Tag, Time } from "../../ui/elements.tsx";
import { statusTone } from "../../ui/format.ts";
import { Icon } from "../../ui/icon.tsx";
import { postern } from "../api.ts";
import type { Description } from "../description.ts";
import { configurationChanges, trafficChanges, useEvery } from "../live-changes.ts";
import { Failed, Head, ListFilter } from "../parts.tsx";
import { useData, useSettled } from "../use-data.ts";
import { destinationOf, destinationsOf, hostOf, linkToService, nameOf, loadNewestServices } from "./services.ts";
import type { Destination, Service } from "./services.ts";

const everyMs = 5_000;
const pageSize = 50;
/** Maximum number of services of each kind. The filter finds others. */
const most = 100;

export function Services({ description }: { readonly description: Description }) {
  const [text, setText] = useState("");
  const [limit, setLimit] = useState(pageSize);
  const [asked, setAsked] = useState(0);
  useEvery(everyMs, () => setAsked((count) => count + 1), []);
  const wanted = useSettled(text.trim());
  const found = useData(
    () => loadNewestServices(wanted, limit, description),
    [wanted, limit, asked, configurationChanges.value],
  );
  const services = found.value?.services ?? [];
  const backends = [...new Set(services.flatMap((one) => one.backends))].slice(0, most);
  const destinations = useData(() => destinationsOf(backends, description), [backends.join(), asked]);
  const requests = useData(
    async () => (await postern.requests.list({ limit: 100 }).page()).items,
    [trafficChanges.value],
  );
  const isEmpty = found.value !== undefined && services.length === 0;
  return (
    <section class="column" aria-label="Services">
      <Head title="Services" doc="Public addresses: who may reach them, and where they lead.">
        <ListFilter placeholder="Address or description" value={text} onText={setText} />
        <a class="button primary" href="#/publish">
          <Icon of={Plus} /> Publish a service
        </a>
      </Head>
      <Failed error={found.error || destinations.error} again={found.again} />
      {!found.value && found.error === "" && (
        <div class="panel">
          <Skeleton />
        </div>
      )}
      {isEmpty && wanted !== "" && <p class="empty">No service matches the filter.</p>}
      {isEmpty && wanted === "" && (
        <div class="empty">
          <Icon of={Globe} />
          <p>A service gives a local port a public address with access rules. Nothing is published yet.</p>
          <a class="button primary" href="#/publish">
            Publish a service
          </a>
        </div>
      )}
      {services.length > 0 && (
        <ul class="panel services">
          {services.map((one) => (
            <Row
              key={one.id}
              service={one}
              destination={destinationOf(one, destinations.value ?? new Map())}
              last={findLastRequest(one, requests.value ?? [])}
            />
          ))}
        </ul>
      )}
      {found.value?.hasMore && limit < most && (
        <button type="button" onClick={() => setLimit(most)}>
          More services
        </button>
      )}
      {found.value?.hasMore && limit >= most && (
        <p class="muted small">More services exist. Filter by a part of the address to find them.</p>
      )}
    </section>
  );
}

interface RowProps {
  readonly service: Service;
  readonly destination: Destination | undefined;
  readonly last: Request | undefined;
}

function Row({ service, destination, last }: RowProps) {
  const { access, note, addresses } = service;
  return (
    <li>
      <a class="service-row" href={linkToService(service)}>
        <Dot tone={destination?.tone ?? ""} />
        <span class="service-name">
          <strong class="cut">{nameOf(service).replace(/^https:\/\//, "")}</strong>
          <span class="muted small cut">
            {addresses.length > 1 ? `and ${addresses.length - 1} more ${note && `· ${note}`}` : note}
          </span>
        </span>
        <span class="service-access small">
          <Icon of={access === "everyone" ? LockOpen : Lock} /> <span class="cut">{access}</span>
        </span>
        <span class="service-to small cut">{destination && `→ ${destination.text}`}</span>
        <span class="service-state">{destination && <Tag tone={destination.tone}>{destination.state}</Tag>}</span>
        <span class="service-last small muted">
          {last ? (
            <>
              <Tag tone={statusTone(last.status_code)}>{last.status_code}</Tag> <Time at={last.ended_at} />
            </>
          ) : (
            "no recent request"
          )}
        </span>
      </a>
    </li>
  );
}

/** Returns the service's newest request. Requests have the host without the port. */
function findLastRequest({ addresses, id }: Service, requests: readonly Request[]): Request | undefined {
  const hosts = new Set(addresses.map(hostOf));
  return requests.find((one) => one.site_id === id || hosts.has(one.host.replace(/:\d+$/, "")));
}
