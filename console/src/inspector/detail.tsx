/** One request beside its response. */
import { useState } from "preact/hooks";
import { Copy, Dialog, Time } from "../ui/elements.tsx";
import { countryText } from "../ui/country.ts";
import { bytesText, durationText } from "../ui/format.ts";
import { Compare } from "./compare.tsx";
import { EditReplay } from "./edit-replay.tsx";
import { RpcCalls, WebSocketMessages } from "../exchange/contents.tsx";
import { Fact } from "../exchange/fact.tsx";
import { curlOf, downloadFile, harOf } from "./export-exchange.ts";
import { Outcome } from "./list.tsx";
import { msOf } from "../exchange/model.ts";
import type { ShownExchange } from "../exchange/model.ts";
import {
  showErrors,
  comparedId,
  exchanges,
  isForgotten,
  isRevealed,
  replayExchange,
  revealSecrets,
  selectExchange,
  selected,
  tunnels,
  loadWhole,
} from "./store.ts";
import { Sides } from "../exchange/sides.tsx";
import { TimingBar, TimingFacts } from "../exchange/timing.tsx";

export const isEditing = { open: (): void => {} };

export function Detail() {
  const [edits, setEdits] = useState(false);
  isEditing.open = () => setEdits(true);
  const exchange = selected.value;
  if (!exchange) return <div class="empty">Choose a request on the left. Use ↑ and ↓ to move.</div>;
  return (
    <article class="detail">
      <header class="column">
        <div class="row">
          <button type="button" class="back plain" onClick={() => selectExchange(undefined)}>
            ‹ All requests
          </button>
          <Outcome exchange={exchange} />
          <h1 class="mono grow title">
            {exchange.request.method} {exchange.request.uri}
          </h1>
        </div>
        {!isForgotten.value && <Actions exchange={exchange} onEdit={() => setEdits(true)} />}
        <Facts exchange={exchange} />
      </header>
      {isForgotten.value && <p class="notice">The agent keeps the last 500 requests, and has deleted this one.</p>}
      {exchange.rpc && <RpcCalls calls={exchange.rpc} duration={durationText(msOf(exchange.duration))} />}
      {!isForgotten.value && <Sides exchange={exchange} onReveal={revealSecrets} />}
      {exchange.websocket && <WebSocketMessages {...exchange.websocket} />}
      {edits && <EditReplay exchange={exchange} onClose={() => setEdits(false)} />}
      {comparedId.value !== undefined && <CompareDialog exchange={exchange} />}
    </article>
  );
}

function CompareDialog({ exchange }: { readonly exchange: ShownExchange }) {
  return (
    <Dialog title="Two requests compared" onClose={() => (comparedId.value = undefined)}>
      <Compare one={exchange} otherId={comparedId.value ?? ""} />
    </Dialog>
  );
}

function Actions({ exchange, onEdit }: { readonly exchange: ShownExchange; onEdit(): void }) {
  const { id, tunnel_name } = exchange;
  const comparable = exchanges.value.filter((one) => one.id !== id).slice(0, 100);
  const elsewhere = tunnels.value.filter(({ name }) => name !== tunnel_name);
  const signs = tunnels.value.find(({ name }) => name === tunnel_name)?.config.signs;
  const send = (tunnel?: string): void =>
    void showErrors(() => replayExchange(id, tunnel === undefined ? {} : { tunnel_name: tunnel }));
  return (
    <div class="row">
      <button type="button" class="primary" onClick={() => send()} title="r">
        Replay
      </button>
      <button type="button" onClick={onEdit} title="e">
        Edit and replay
      </button>
      {signs !== undefined && <span class="muted small">Webhooks of {signs} get a new signature.</span>}
      {elsewhere.length > 0 && (
        <select aria-label="Replay to another tunnel" value="" onChange={(event) => send(event.currentTarget.value)}>
          <option value="">Replay at …</option>
          {elsewhere.map(({ name, config }) => (
            <option key={name} value={name}>{`${name} (${config.addr})`}</option>
          ))}
        </select>
      )}
      {/* Contains credentials only if they are revealed. */}
      <Copy kind="" text={() => curlOf(exchange, tunnels.value)}>
        Copy as curl
      </Copy>
      <button type="button" onClick={() => void showErrors(() => saveExchange(exchange))}>
        Download HAR
      </button>
      <select
        aria-label="Compare with"
        value={comparedId.value ?? ""}
        onChange={(event) => (comparedId.value = event.currentTarget.value || undefined)}
      >
        <option value="">Compare with …</option>
        {comparable.map((one) => (
          <option key={one.id} value={one.id}>
            {`${one.request.method} ${one.request.uri} ${one.response?.status_code ?? ""}${one.id === exchange.replay_of ? " (original)" : ""}`}
          </option>
        ))}
      </select>
      <button type="button" aria-pressed={isRevealed.value} onClick={revealSecrets} title="s">
        {isRevealed.value ? "Hide credentials" : "Show credentials"}
      </button>
    </div>
  );
}

async function saveExchange(exchange: ShownExchange): Promise<void> {
  const all = [await loadWhole(exchange.id, isRevealed.value)];
  downloadFile(`postern-${exchange.id}.har`, "application/json", harOf(all, tunnels.value));
}

function Facts({ exchange }: { readonly exchange: ShownExchange }) {
  const { start, remote_addr, remote_country, tunnel_name, outcome, fault, passed, replay_of } = exchange;
  return (
    <div class="column timing">
      <TimingBar exchange={exchange} />
      <dl class="facts small">
        <Fact name="Began">
          <Time at={start} />
        </Fact>
        <TimingFacts exchange={exchange} />
        <Fact name="Visitor">
          {remote_addr}
          {remote_country !== null && `, ${countryText(remote_country)}`}
        </Fact>
        <Fact name="Through">{tunnel_name}</Fact>
        {passed && (
          <Fact name="Other bytes">{`${bytesText(passed.bytes_in)} in, ${bytesText(passed.bytes_out)} out`}</Fact>
        )}
        {replay_of !== undefined && (
          <Fact name="Repeats">
            <button type="button" class="plain tiny mono" onClick={() => selectExchange(replay_of)}>
              {replay_of}
            </button>
          </Fact>
        )}
      </dl>
      {fault !== undefined && <p class="notice bad">Could not be parsed: {fault}.</p>}
      {outcome === "cut" && <p class="notice warn">The connection ended before the response was complete.</p>}
    </div>
  );
}
