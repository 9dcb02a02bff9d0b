/** The console in a browser. */
import { render } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import "../ui/theme.css";
import "../ui/requests.css";
import "./console.css";
import { Menu, Search as SearchIcon, X } from "lucide";
import { Skeleton } from "../ui/elements.tsx";
import { Icon, Logo } from "../ui/icon.tsx";
import { startTheme } from "../ui/theme.ts";
import { startVisible } from "../ui/visible.ts";
import { atRevision, beginSession, connection, invitation, isPast, session, whyOut } from "./api.ts";
import { Connect } from "./connect.tsx";
import { loadDescription, titleOf } from "./description.ts";
import type { Description } from "./description.ts";
import { Edges } from "./edges.tsx";
import { Events } from "./events.tsx";
import { Explain } from "./explain.tsx";
import { History } from "./history.tsx";
import { handleKey, isSearching } from "./keyboard.ts";
import { liveState, startLive, stopLive } from "./live-changes.ts";
import { New, NewInPlace, One } from "./objects.tsx";
import { Table } from "./table.tsx";
import { Logins } from "./logins.tsx";
import { Overview } from "./overview.tsx";
import { Failed } from "./parts.tsx";
import { Accept } from "./people/accept.tsx";
import { People } from "./people/people.tsx";
import { Inbox } from "./inbox.tsx";
import { Invite } from "./invite.tsx";
import { Publish } from "./publish/publish.tsx";
import { Published } from "./published.tsx";
import { NewObject } from "./reference.tsx";
import { useName } from "./names.ts";
import { replacePlace, place } from "./router.ts";
import type { PagePlace } from "./router.ts";
import { Search } from "./search.tsx";
import { SignIn } from "./sign-in.tsx";
import { Traffic } from "./traffic.tsx";
import { useData } from "./use-data.ts";
import { Webhooks } from "./webhooks.tsx";
import { Kinds, Part } from "./menu-pages.tsx";
import { Connection } from "./services/connection.tsx";
import { Services } from "./services/list.tsx";
import { Side } from "./side.tsx";
import { hands } from "./views.ts";

function Page() {
  const isIn = session.value;
  useEffect(() => {
    if (!isIn) return;
    startLive();
    return stopLive;
  }, [isIn?.id]);
  if (invitation.value !== undefined) return <Accept code={invitation.value} />;
  if (isIn === undefined) return <main aria-busy="true" aria-label="Loading" />;
  if (isIn && connection.value !== undefined) return <Connect request={connection.value} />;
  return isIn === null ? <SignIn /> : <Shell key={isIn.id} />;
}

/** Whether a view shows the state at the selected revision. Other views show the current state, or create something. */
function showsPast({ view, rest: [name = "", id] }: PagePlace, description: Description | undefined): boolean {
  if (view === "edges") return true;
  return view === "objects" && id !== "new" && isPast(description?.kinds.get(name)?.get);
}

function Shell() {
  const [opens, setOpens] = useState(false);
  const description = useData(loadDescription, []);
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
          <Icon of={opens ? X : Menu} />
        </button>
        <a class="brand" href="#/overview">
          <Logo /> Postern
        </a>
        <span class="grow" />
        <button type="button" class="plain" aria-label="Search" onClick={() => (isSearching.value = true)}>
          <Icon of={SearchIcon} />
        </button>
      </header>
      <Side description={description.value} />
      <main class="page" id="main" tabIndex={-1}>
        {liveState.value === "away" && (
          <p class="notice warn" role="status">
            No connection to the server. The page reconnects automatically, and keeps what you entered.
          </p>
        )}
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
          <NewObject.Provider value={NewInPlace}>
            <View description={description.value} />
          </NewObject.Provider>
        ) : (
          description.error === "" && <Skeleton lines={8} />
        )}
      </main>
      {isSearching.value && description.value && <Search description={description.value} />}
    </div>
  );
}

function View({ description }: { readonly description: Description }) {
  const { view, rest } = place.value;
  const [name = "", id] = rest;
  switch (view) {
    case "traffic":
      return <Traffic description={description} />;
    case "services":
      return rest.length === 2 ? (
        <Connection key={rest.join()} kindName={name} id={id ?? ""} description={description} />
      ) : (
        <Services description={description} />
      );
    case "edges":
      return <Edges description={description} />;
    case "history":
      return <History />;
    case "explain":
      return <Explain description={description} />;
    case "logins":
      return <Logins />;
    case "inbox":
      return <Inbox description={description} />;
    case "webhooks":
      return <Webhooks description={description} />;
    case "events":
      return <Events />;
    case "invite":
      return <Invite />;
    case "people":
      return <People />;
    case "publish":
      return name === "" ? <Publish /> : <Published key={name} edgeId={name} />;
    case "access":
    case "machines":
    case "settings":
      return <Part key={view} path={view} description={description} />;
    case "objects": {
      if (name === "") return <Kinds description={description} />;
      const kind = description.kinds.get(name);
      if (!kind) break;
      if (hands.has(name) && id !== undefined && kind.parents > 0)
        return <Nested key={id} name={name} id={id} description={description} />;
      if (name === "person_invitation" && id === "new") return <People />;
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

interface NestedProps {
  readonly name: string;
  readonly id: string;
  readonly description: Description;
}

/** Nested objects are shown on the page of their parent. */
function Nested({ name, id, description }: NestedProps) {
  const href = useName(id, description)?.href;
  useEffect(() => {
    if (href !== undefined) replacePlace(href.slice(2));
  }, [href]);
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
beginSession().catch(() => {
  whyOut.value = "The server does not answer. Reload the page when the server is back.";
  session.value = null;
});
