/** The agent's inspector in a browser. */
import { render } from "preact";
import "../ui/theme.css";
import "../ui/requests.css";
import "../exchange/exchange.css";
import "./inspector.css";
import { Command, Failure, ThemeButton } from "../ui/elements.tsx";
import { Logo } from "../ui/icon.tsx";
import type { Live } from "../ui/live.ts";
import { renderCurl, curlWithAuthority } from "../ui/shell.ts";
import { startTheme } from "../ui/theme.ts";
import { startVisible } from "../ui/visible.ts";
import { Detail, isEditing } from "./detail.tsx";
import { downloadFile, harOf } from "./export-exchange.ts";
import { Filters, List } from "./list.tsx";
import {
  showErrors,
  clearExchanges,
  exchanges,
  failure,
  isPaused,
  replayExchange,
  revealSecrets,
  selectExchange,
  selectedId,
  shown,
  startStore,
  togglePause,
  tunnels,
  loadWhole,
} from "./store.ts";
import { visitedUrl } from "../ui/visited-url.ts";

function Page({ live }: { readonly live: Live }) {
  return (
    <div class={`inspector ${selectedId.value === undefined ? "" : "chosen"}`}>
      <Top live={live} />
      <Failure text={failure.value} />
      {exchanges.value.length === 0 ? <Nothing /> : <Main />}
    </div>
  );
}

function Top({ live }: { readonly live: Live }) {
  const states = { connecting: "connecting", live: isPaused.value ? "paused" : "live", away: "agent away" };
  const tone = live.state.value === "live" ? (isPaused.value ? "warn" : "good") : "bad";
  return (
    <header class="top">
      <Logo />
      <strong>Inspector</strong>
      <span class={`tag ${tone}`} role="status">
        {states[live.state.value]}
      </span>
      <Tunnels />
      <button type="button" class="plain" aria-pressed={isPaused.value} onClick={togglePause} title="p">
        {isPaused.value ? "Go on" : "Pause"}
      </button>
      <button type="button" class="plain" onClick={() => void showErrors(saveAll)}>
        HAR
      </button>
      <button type="button" class="plain" onClick={clearExchanges}>
        Clear
      </button>
      <ThemeButton />
    </header>
  );
}

/** Maximum number of tunnels beside each other. More of them are in a menu. */
const tunnelsInLine = 2;

function Tunnels() {
  const all = tunnels.value;
  const links = all.map(({ name, public_url, config }) => (
    <li key={name} class="cut">
      <a href={visitedUrl(public_url)} target="_blank" rel="noreferrer">
        {public_url || name}
      </a>{" "}
      → {config.addr}
    </li>
  ));
  if (all.length <= tunnelsInLine) return <ul class="tunnels grow muted small">{links}</ul>;
  return (
    <details class="tunnel-menu grow small">
      <summary>{all.length} tunnels</summary>
      <ul class="panel muted">{links}</ul>
    </details>
  );
}

async function saveAll(): Promise<void> {
  const all = await Promise.all(shown.value.slice(0, 100).map(({ id }) => loadWhole(id, false)));
  downloadFile("postern.har", "application/json", harOf(all, tunnels.value));
}

function Main() {
  return (
    <main>
      <section class="list" aria-label="Requests">
        <Filters />
        <List />
      </section>
      <section class="one" aria-label="One request">
        <Detail />
      </section>
    </main>
  );
}

function Nothing() {
  const [tunnel] = tunnels.value;
  const isKept = tunnel?.config.inspect ?? true;
  return (
    <main class="empty">
      <h1>No requests yet</h1>
      {isKept ? (
        <p>Requests through this agent appear here automatically. Send one:</p>
      ) : (
        <p>The agent does not capture requests of this tunnel: start it without --inspect false.</p>
      )}
      {tunnel && tunnel.public_url !== "" && <Command text={curlOf(visitedUrl(tunnel.public_url))} />}
    </main>
  );
}

/** A server below localhost is on this machine, and its certificate comes from its own CA. */
function curlOf(url: string): string {
  return URL.parse(url)?.hostname.endsWith(".localhost") === true ? curlWithAuthority(url) : renderCurl(url);
}

/** Keys with a function outside of text fields. */
function handleKey(event: KeyboardEvent): void {
  const { target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target instanceof HTMLElement && target.closest("input, textarea, select, dialog")) return;
  const id = selectedId.value;
  const actions: Record<string, () => void> = {
    "/": () => document.querySelector<HTMLElement>("#filter-text")?.focus(),
    ArrowDown: () => moveSelection(1),
    j: () => moveSelection(1),
    ArrowUp: () => moveSelection(-1),
    k: () => moveSelection(-1),
    Escape: () => selectExchange(undefined),
    p: togglePause,
    r: () => id !== undefined && void showErrors(() => replayExchange(id)),
    e: () => id !== undefined && isEditing.open(),
    s: () => id !== undefined && revealSecrets(),
  };
  const action = actions[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function moveSelection(step: number): void {
  const ids = shown.value.map(({ id }) => id);
  const at = ids.indexOf(selectedId.value ?? "");
  const next = ids[Math.max(0, Math.min(ids.length - 1, at + step))];
  if (next === undefined) return;
  selectExchange(next);
  document.querySelector<HTMLElement>(`#request-${next}`)?.focus();
}

startTheme();
startVisible();
document.addEventListener("keydown", handleKey);
const live = startStore();
const place = document.querySelector("#page");
if (place) render(<Page live={live} />, place);
