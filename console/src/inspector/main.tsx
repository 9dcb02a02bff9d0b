/** The agent's inspector in a browser. */
import { render } from "preact";
import "../ui/theme.css";
import "../ui/requests.css";
import "../exchange/exchange.css";
import "./inspector.css";
import { Command, Failure, ThemeButton } from "../ui/elements.tsx";
import type { Live } from "../ui/live.ts";
import { startTheme } from "../ui/theme.ts";
import { startVisible } from "../ui/visible.ts";
import { Detail, isEditing } from "./detail.tsx";
import { download, harOf } from "./export.ts";
import { Filters, List } from "./list.tsx";
import {
  attempt,
  clear,
  exchanges,
  failure,
  isPaused,
  replay,
  reveal,
  select,
  selectedId,
  shown,
  startStore,
  togglePause,
  tunnels,
  whole,
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
      <strong>Inspector</strong>
      <span class={`tag ${tone}`} role="status">
        {states[live.state.value]}
      </span>
      <span class="grow cut muted small">
        {tunnels.value.map(({ name, public_url, config }) => (
          <span key={name}>
            <a href={visitedUrl(public_url)} target="_blank" rel="noreferrer">
              {public_url || name}
            </a>{" "}
            → {config.addr}{" "}
          </span>
        ))}
      </span>
      <button type="button" class="plain" aria-pressed={isPaused.value} onClick={togglePause} title="p">
        {isPaused.value ? "Go on" : "Pause"}
      </button>
      <button type="button" class="plain" onClick={() => void attempt(saveAll)}>
        HAR
      </button>
      <button type="button" class="plain" onClick={clear}>
        Clear
      </button>
      <ThemeButton />
    </header>
  );
}

async function saveAll(): Promise<void> {
  const all = await Promise.all(shown.value.slice(0, 100).map(({ id }) => whole(id, false)));
  download("postern.har", "application/json", harOf(all, tunnels.value));
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
      {tunnel && tunnel.public_url !== "" && <Command text={`curl ${visitedUrl(tunnel.public_url)}`} />}
    </main>
  );
}

/** Keys with a function outside of text fields. */
function handleKey(event: KeyboardEvent): void {
  const { target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target instanceof HTMLElement && target.closest("input, textarea, select, dialog")) return;
  const id = selectedId.value;
  const actions: Record<string, () => void> = {
    "/": () => document.querySelector<HTMLElement>("#filter-text")?.focus(),
    ArrowDown: () => move(1),
    j: () => move(1),
    ArrowUp: () => move(-1),
    k: () => move(-1),
    Escape: () => select(undefined),
    p: togglePause,
    r: () => id !== undefined && void attempt(() => replay(id)),
    e: () => id !== undefined && isEditing.open(),
    s: () => id !== undefined && reveal(),
  };
  const action = actions[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function move(step: number): void {
  const ids = shown.value.map(({ id }) => id);
  const at = ids.indexOf(selectedId.value ?? "");
  const next = ids[Math.max(0, Math.min(ids.length - 1, at + step))];
  if (next === undefined) return;
  select(next);
  document.querySelector<HTMLElement>(`#request-${next}`)?.focus();
}

startTheme();
startVisible();
document.addEventListener("keydown", handleKey);
const live = startStore();
const place = document.querySelector("#page");
if (place) render(<Page live={live} />, place);
