/** State of the page, and its calls of the local API. */
import { computed, signal } from "@preact/signals";
import { openLive } from "../ui/live.ts";
import type { Live } from "../ui/live.ts";
import type { ShownExchange } from "../exchange/model.ts";
import type { ReplayEdits, Tunnel } from "./tunnels.ts";
import { emptyFilter, matchesFilter } from "./exchange-filter.ts";

/** Newest first. */
export const exchanges = signal<readonly ShownExchange[]>([]);
export const tunnels = signal<readonly Tunnel[]>([]);
export const filter = signal(emptyFilter);
/** Ids of requests whose heads or bodies contain the searched text; undefined without a search. */
export const withText = signal<ReadonlySet<string> | undefined>(undefined);
export const selectedId = signal<string | undefined>(undefined);
/** The complete selected exchange, with bodies. */
export const selected = signal<ShownExchange | undefined>(undefined);
/** Id of the second exchange of a comparison. */
export const comparedId = signal<string | undefined>(undefined);
/** Whether the agent has deleted the selected request, so that only its line in the list is left. */
export const isForgotten = signal(false);
export const isRevealed = signal(false);
export const failure = signal("");
export const isPaused = signal(false);

export const shown = computed(() => {
  const found = exchanges.value.filter((one) => matchesFilter(one, filter.value, withText.value));
  return found;
});

/** Number of requests that the agent keeps. */
const most = 500;
/** Maximum number of requests in the list. The list keeps the lines of requests that the agent has deleted. */
const mostListed = 10_000;
const base = "/api/requests/http";
/** Exchanges that arrived while the list was paused. */
let held = new Map<string, ShownExchange>();
let live: Live;

export function startStore(): Live {
  live = openLive({
    url: `${base}/events`,
    opened: () => void showErrors(loadExchanges),
    events: {
      requests: (data) => takeChanges(data as readonly ShownExchange[]),
      cleared: () => {
        exchanges.value = [];
        selectExchange(undefined);
      },
    },
  });
  return live;
}

async function loadExchanges(): Promise<void> {
  const [{ requests }, found] = await Promise.all([
    fetchJson<{ requests: readonly ShownExchange[] }>(`${base}?limit=${most}&brief=true`),
    fetchJson<{ tunnels: readonly Tunnel[] }>("/api/tunnels"),
  ]);
  const ids = new Set(requests.map(({ id }) => id));
  const [newest] = requests;
  // The ids of an agent have the same beginning until it restarts.
  const agent = newest?.id.slice(0, 8);
  const earlier = exchanges.value.filter(({ id }) => id.slice(0, 8) === agent && !ids.has(id));
  exchanges.value = [...requests, ...earlier].slice(0, mostListed);
  tunnels.value = found.tunnels;
  if (selectedId.value !== undefined && !exchanges.value.some(({ id }) => id === selectedId.value))
    selectExchange(undefined);
}

function takeChanges(changed: readonly ShownExchange[]): void {
  if (isPaused.value) {
    for (const one of changed) held.set(one.id, one);
    return;
  }
  const byId = new Map(changed.map((one) => [one.id, one]));
  const kept = exchanges.value.map((one) => {
    const now = byId.get(one.id);
    byId.delete(one.id);
    return now ?? one;
  });
  exchanges.value = [...[...byId.values()].reverse(), ...kept].slice(0, mostListed);
  if (changed.some(({ id }) => id === selectedId.value)) refreshSoon();
}

export function togglePause(): void {
  isPaused.value = !isPaused.value;
  if (isPaused.value) return;
  const found = [...held.values()];
  held = new Map();
  takeChanges(found);
}

let refreshing: ReturnType<typeof setTimeout> | undefined;

/** Reloads a body that is still arriving, but not for each piece. */
function refreshSoon(): void {
  refreshing ??= setTimeout(() => {
    refreshing = undefined;
    void showErrors(refreshTunnels);
  }, 250);
}

async function refreshTunnels(): Promise<void> {
  const id = selectedId.value;
  if (id === undefined) return;
  const found = await loadWhole(id, isRevealed.value).catch((error: unknown) => {
    const listed = exchanges.value.find((one) => one.id === id);
    if (!(error instanceof NotFound) || !listed) throw error;
    return listed;
  });
  if (selectedId.value !== id) return;
  isForgotten.value = found.request.raw === undefined;
  selected.value = found;
}

class NotFound extends Error {}

export function loadWhole(id: string, reveals: boolean): Promise<ShownExchange> {
  return fetchJson(`${base}/${id}${reveals ? "?reveal=true" : ""}`);
}

export function selectExchange(id: string | undefined): void {
  if (id !== selectedId.value) {
    isRevealed.value = false;
    comparedId.value = undefined;
    selected.value = undefined;
  }
  selectedId.value = id;
  if (id !== undefined) void showErrors(refreshTunnels);
}

export function revealSecrets(): void {
  isRevealed.value = !isRevealed.value;
  void showErrors(refreshTunnels);
}

/** Sends the request to the service again, and shows the result. */
export async function replayExchange(id: string, edits: ReplayEdits = {}): Promise<void> {
  const answer = await sendRequest("POST", base, { id, ...edits });
  const sent = answer.headers.get("location")?.split("/").at(-1);
  if (sent !== undefined) selectExchange(sent);
}

export function clearExchanges(): void {
  void showErrors(async () => void (await sendRequest("DELETE", base)));
}

let asked = 0;

/** Searches through the agent, which has the bodies. */
export function searchText(text: string): void {
  asked += 1;
  const own = asked;
  if (text === "") {
    withText.value = undefined;
    return;
  }
  setTimeout(() => {
    if (own !== asked) return;
    void showErrors(async () => {
      const query = new URLSearchParams({ limit: String(most), brief: "true", text });
      const { requests } = await fetchJson<{ requests: readonly ShownExchange[] }>(`${base}?${query.toString()}`);
      if (own === asked) withText.value = new Set(requests.map(({ id }) => id));
    });
  }, 200);
}

/** Shows errors at the top of the page. */
export async function showErrors(action: () => Promise<void>): Promise<void> {
  try {
    await action();
    failure.value = "";
  } catch (error) {
    failure.value = error instanceof Error ? error.message : String(error);
  }
}

async function fetchJson<Body>(path: string): Promise<Body> {
  return (await (await sendRequest("GET", path)).json()) as Body;
}

async function sendRequest(method: string, path: string, body?: object): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
  } catch {
    throw new Error("The agent does not answer. It has stopped or is restarting.");
  }
  if (answer.ok) return answer;
  const refusal = (await answer.json().catch(() => ({}))) as { readonly msg?: string };
  const message = refusal.msg ?? `The agent answered ${answer.status}.`;
  throw answer.status === 404 ? new NotFound(message) : new Error(message);
}
