/** List of requests, newest first, with its filters. */
import { Tag } from "../ui/elements.tsx";
import { countryName, countryText, flagOf } from "../ui/country.ts";
import { clockText, durationText, statusTone } from "../ui/format.ts";
import { VirtualList } from "../ui/virtual-list.tsx";
import { callsOf, emptyFilter } from "./exchange-filter.ts";
import type { Filter } from "./exchange-filter.ts";
import { rpcText } from "../exchange/contents.tsx";
import { fieldOf, msOf } from "../exchange/model.ts";
import type { ShownExchange } from "../exchange/model.ts";
import { comparedId, exchanges, filter, searchText, selectExchange, selectedId, shown, tunnels } from "./store.ts";

const setFilter = (change: Partial<Filter>): void => {
  filter.value = { ...filter.value, ...change };
};
const valueOf = (event: Event): string => (event.currentTarget as HTMLInputElement).value;

export function Filters() {
  const { method, status, path, text, slowerThan, tunnel, call } = filter.value;
  const calls = [...new Set(exchanges.value.flatMap(callsOf))].sort();
  const methods = [...new Set(exchanges.value.map(({ request }) => request.method))].filter(Boolean).sort();
  return (
    <form class="filters" role="search" aria-label="Filter requests" onSubmit={(event) => event.preventDefault()}>
      <input
        id="filter-text"
        type="search"
        class="grow"
        aria-label="Text in headers and bodies"
        placeholder="Text in headers and bodies  /"
        value={text}
        onInput={(event) => {
          setFilter({ text: valueOf(event) });
          searchText(valueOf(event));
        }}
      />
      <input
        type="search"
        aria-label="Path contains"
        placeholder="Path"
        size={9}
        value={path}
        onInput={(event) => setFilter({ path: valueOf(event) })}
      />
      <select aria-label="Method" value={method} onChange={(event) => setFilter({ method: valueOf(event) })}>
        <option value="">Method</option>
        {methods.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <select aria-label="Status" value={status} onChange={(event) => setFilter({ status: valueOf(event) })}>
        <option value="">Status</option>
        {["2xx", "3xx", "4xx", "5xx"].map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <select
        aria-label="Slower than"
        value={String(slowerThan)}
        onChange={(event) => setFilter({ slowerThan: Number(valueOf(event)) })}
      >
        <option value="0">Duration</option>
        {[50, 200, 1_000, 5_000].map((ms) => (
          <option key={ms} value={ms}>{`> ${ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`}`}</option>
        ))}
      </select>
      {calls.length > 0 && (
        <select aria-label="Call" value={call} onChange={(event) => setFilter({ call: valueOf(event) })}>
          <option value="">MCP call</option>
          {calls.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      )}
      {tunnels.value.length > 1 && (
        <select aria-label="Tunnel" value={tunnel} onChange={(event) => setFilter({ tunnel: valueOf(event) })}>
          <option value="">Tunnel</option>
          {tunnels.value.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
    </form>
  );
}

/** Height of a row, pixels. */
const rowHeight = 52;

export function List() {
  const found = shown.value;
  if (found.length === 0) {
    return (
      <div class="empty">
        <p>None of the {exchanges.value.length} requests matches the filter.</p>
        <button
          type="button"
          onClick={() => {
            filter.value = emptyFilter;
            searchText("");
          }}
        >
          Show all
        </button>
      </div>
    );
  }
  return (
    <VirtualList
      label="Requests"
      items={found}
      rowHeight={rowHeight}
      chosenId={selectedId.value}
      row={(one) => <Row exchange={one} />}
      rowClass={({ id }) => (comparedId.value === id ? "compared" : "")}
    />
  );
}

function Row({ exchange }: { readonly exchange: ShownExchange }) {
  const { id, request, start, duration, replay_of, outcome, tunnel_name, remote_country } = exchange;
  const isSelected = selectedId.value === id;
  const calls = rpcText(exchange.rpc);
  return (
    <button
      type="button"
      id={`request-${id}`}
      aria-current={isSelected}
      onClick={(event) => {
        if ((event.metaKey || event.ctrlKey) && selectedId.value !== undefined) comparedId.value = id;
        else selectExchange(id);
      }}
    >
      <Outcome exchange={exchange} />
      <span class="mono method">{request.method || "?"}</span>
      <span class="grow what">
        <span class="mono cut" title={request.uri}>
          {request.uri}
        </span>
        <span class="muted cut where">
          {[calls, fieldOf(request.headers, "host"), tunnel_name]
            .filter((one) => one !== undefined && one !== "")
            .join(" · ")}
        </span>
      </span>
      {remote_country !== null && (
        <span role="img" aria-label={countryName(remote_country)} title={countryText(remote_country)}>
          {flagOf(remote_country)}
        </span>
      )}
      {replay_of !== undefined && <Tag tone="info">replay</Tag>}
      <span class="muted small figures">{outcome === "open" ? "…" : durationText(msOf(duration))}</span>
      <span class="muted small figures when">{clockText(new Date(start))}</span>
    </button>
  );
}

export function Outcome({ exchange: { response, outcome } }: { readonly exchange: ShownExchange }) {
  if (outcome === "unreadable") return <Tag tone="bad">unreadable</Tag>;
  if (outcome === "cut") return <Tag tone="bad">{response ? `${response.status_code} cut` : "cut"}</Tag>;
  if (!response) return <Tag>waits</Tag>;
  return <Tag tone={statusTone(response.status_code)}>{response.status_code}</Tag>;
}
