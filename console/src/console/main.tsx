/** The console in a browser. */
import { render } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import "../ui/theme.css";
import "../ui/requests.css";
import "./console.css";
import { ThemeButton } from "../ui/elements.tsx";
import { startTheme } from "../ui/theme.ts";
import { startVisible } from "../ui/visible.ts";
import { atRevision, begin, isPast, logOut, move, session, whyOut } from "./api.ts";
import { describe, titleOf } from "./description.ts";
import type { Description } from "./description.ts";
import { Edges } from "./edges.tsx";
import { Events } from "./events.tsx";
import { Explain } from "./explain.tsx";
import { History } from "./history.tsx";
import { handleKey, isSearching } from "./keys.ts";
import { liveState, startLive, stopLive } from "./live.ts";
import { New, One } from "./objects.tsx";
import { Table } from "./table.tsx";
import { Logins } from "./logins.tsx";
import { Overview } from "./overview.tsx";
import { Failed } from "./parts.tsx";
import { Invite } from "./invite.tsx";
import { Publish } from "./publish.tsx";
import { Published } from "./published.tsx";
import { place } from "./router.ts";
import type { Place } from "./router.ts";
import { Search } from "./search.tsx";
import { SignIn } from "./sign-in.tsx";
import { Traffic } from "./traffic.tsx";
import { useData } from "./use-data.ts";
import { Webhooks } from "./webhooks.tsx";
import { hands, nav } from "./views.ts";

function Page() {
  const isIn = session.value;
  useEffect(() => {
    if (!isIn) return;
    startLive();
    return stopLive;
  }, [isIn?.id]);
  if (isIn === undefined) return <main class="empty">…</main>;
  return isIn === null ? <SignIn /> : <Shell key={isIn.id} />;
}

/** Whether a view shows the state at the selected revision. Other views show the current state, or create something. */
function showsPast({ view, rest: [name = "", id] }: Place, description: Description | undefined): boolean {
  if (view === "edges") return true;
  return view === "objects" && id !== "new" && isPast(description?.kinds.get(name)?.get);
}

function Shell() {
  const [opens, setOpens] = useState(false);
  const description = useData(describe, []);
  const { view, rest } = place.value;
  useEffect(() => {
    setOpens(false);
    document.querySelector(".page")?.scrollTo(0, 0);
  }, [view, rest.join()]);
  // Move the focus into a view that was opened by a key. Done before painting, so that no key press arrives earlier.
  const seen = useRef(view);
  useLayoutEffect(() => {
    if (seen.current !== view) document.querySelector<HTMLElement>("#main")?.focus({ preventScroll: true });
    seen.current = view;
  }, [view]);
  return (
    <div class={`shell ${opens ? "open" : ""}`}>
      <button type="button" class="skip" onClick={() => document.querySelector<HTMLElement>("#main")?.focus()}>
        Skip to the content
      </button>
      <header class="bar">
        <button
          type="button"
          class="plain menu"
          aria-label="Menu"
          aria-expanded={opens}
          onClick={() => setOpens(!opens)}
        >
          ☰
        </button>
        <a class="brand" href="#/overview">
          Postern
        </a>
        {liveState.value === "away" && (
          <span class="tag warn" role="status">
            no connection to the server, reconnecting
          </span>
        )}
        <span class="grow" />
        <button type="button" class="search-button" onClick={() => (isSearching.value = true)}>
          Search <kbd>/</kbd>
        </button>
        <ThemeButton />
        <Accounts />
        <a class="muted small who" href={`#/objects/console_session`} title={session.value?.api_key.id}>
          {session.value?.person
            ? `${session.value.person.email || session.value.person.name} (${session.value.person.role})`
            : session.value?.api_key.description || "API key"}
        </a>
        <button type="button" class="plain" onClick={() => void logOut()}>
          Log out
        </button>
      </header>
      <Menu description={description.value} />
      <main class="page" id="main" tabIndex={-1}>
        {atRevision.value !== undefined && (
          <p class="notice warn row" role="status">
            <span class="grow">
              {showsPast(place.value, description.value)
                ? `You see the state at revision ${atRevision.value}. You cannot change anything here.`
                : `This view shows the current state, not revision ${atRevision.value}.`}
            </span>
            <button type="button" onClick={() => (atRevision.value = undefined)}>
              Back to now
            </button>
          </p>
        )}
        <Failed error={description.error} again={description.again} />
        {description.value ? (
          <View description={description.value} />
        ) : (
          description.error === "" && <p class="muted">…</p>
        )}
      </main>
      {isSearching.value && description.value && <Search description={description.value} />}
    </div>
  );
}

/** Accounts of a user who belongs to several. */
function Accounts() {
  const { accounts = [], account_id: own } = session.value ?? {};
  const [error, setError] = useState("");
  if (accounts.length < 2) return null;
  const go = (id: string): void => void move(id).catch((failure: Error) => setError(failure.message));
  return (
    <>
      <select class="account" aria-label="Account" value={own} onChange={(event) => go(event.currentTarget.value)}>
        {accounts.map(({ id, name }) => (
          <option key={id} value={id}>
            {name || id}
          </option>
        ))}
      </select>
      <Failed error={error} />
    </>
  );
}

function Menu({ description }: { readonly description: Description | undefined }) {
  const { view, rest } = place.value;
  const isOpen = (path: string): boolean => path === [view, ...(view === "objects" ? rest.slice(0, 1) : [])].join("/");
  return (
    <nav class="menu-list" aria-label="Views">
      {nav(description).map(({ title, items }) => (
        <section key={title} aria-label={title}>
          <h2>{title}</h2>
          <ul>
            {items.map(({ path, name, key }) => (
              <li key={path}>
                <a
                  href={`#/${path}`}
                  aria-current={isOpen(path) ? "page" : undefined}
                  title={key === undefined ? undefined : `g ${key}`}
                >
                  {name}
                </a>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </nav>
  );
}

function View({ description }: { readonly description: Description }) {
  const { view, rest } = place.value;
  const [name = "", id] = rest;
  switch (view) {
    case "traffic":
      return <Traffic description={description} />;
    case "edges":
      return <Edges description={description} />;
    case "history":
      return <History />;
    case "explain":
      return <Explain description={description} />;
    case "logins":
      return <Logins />;
    case "webhooks":
      return <Webhooks description={description} />;
    case "events":
      return <Events />;
    case "invite":
      return <Invite />;
    case "publish":
      return name === "" ? <Publish /> : <Published key={name} edgeId={name} />;
    case "objects": {
      const kind = description.kinds.get(name);
      if (!kind) break;
      if (hands.has(name) && id !== undefined && kind.parents > 0) return <Nested name={name} />;
      if (id === "new") return <New key={name} kind={kind} description={description} />;
      return id === undefined ? (
        <Table key={name} kind={kind} description={description} />
      ) : (
        <One key={id} kind={kind} description={description} id={id} />
      );
    }
    case "overview":
      return <Overview />;
  }
  return (
    <p class="empty">
      This page does not exist. <a href="#/overview">To the overview</a>
    </p>
  );
}

/** Nested objects are shown on the page of their parent. */
function Nested({ name }: { readonly name: string }) {
  return (
    <p class="empty">
      Each {titleOf(name)} is shown at its edge. <a href="#/edges">Edges</a>
    </p>
  );
}

startTheme();
startVisible();
document.addEventListener("keydown", handleKey);
const target = document.querySelector("#page");
if (target) render(<Page />, target);
begin().catch(() => {
  whyOut.value = "The server does not answer. Reload the page when the server is back.";
  session.value = null;
});
