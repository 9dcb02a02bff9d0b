/** Who uses the console: people, open invitations, sessions, and what each role may do. */
import { useState } from "preact/hooks";
import type { ConsoleSession, Person, PersonInvitation } from "../../../../sdk/src/index.ts";
import { Skeleton, Tag, Time } from "../../ui/elements.tsx";
import { explainError, logOut, postern, session } from "../api.ts";
import { loadAuthors } from "../history/authors.ts";
import { configurationChanges, useEvery } from "../live-changes.ts";
import { Failed, Head } from "../parts.tsx";
import { goTo, place } from "../router.ts";
import { useData } from "../use-data.ts";
import { InvitePerson } from "./invite-person.tsx";
import { ManagePerson } from "./manage-person.tsx";
import { assignableRoles, roles } from "./roles.ts";

const most = 100;
const everyMs = 30_000;

export function People() {
  const [asked, setAsked] = useState(0);
  useEvery(everyMs, () => setAsked((count) => count + 1), []);
  const found = useData(loadPeople, [asked, configurationChanges.value]);
  // Also the address of a new object of this kind.
  const isInviting = place.value.rest.includes("invite") || place.value.rest.includes("new");
  const [managed, setManaged] = useState<Person>();
  const [linked, setLinked] = useState<string>();
  const { people = [], invitations = [], sessions = [], keys = new Map<string, string>() } = found.value ?? {};
  const mayInvite = assignableRoles().length > 0;
  return (
    <section class="column" aria-label="People of the console">
      <Head title="People" doc="Who may use this console, and what they may do. Each person has a passkey or login.">
        {mayInvite && (
          <a class="button primary" href="#/people/invite">
            Invite a colleague
          </a>
        )}
      </Head>
      <Failed error={found.error} again={found.again} />
      {!found.value && found.error === "" && <Skeleton lines={6} />}
      {found.value && people.length === 0 && (
        <p class="empty">No people yet. Invite your colleagues, and yourself, instead of sharing an API key.</p>
      )}
      {people.length > 0 && (
        <Panel title="People">
          {people.map((one) => (
            <li key={one.id} class="row">
              <span class="grow cut">
                <strong>{one.name || one.email}</strong> <span class="muted">{one.name && one.email}</span>
              </span>
              {!one.active && <Tag tone="warn">blocked</Tag>}
              <span class="muted small">
                {one.last_login_at === null ? (
                  "never logged in"
                ) : (
                  <>
                    last login <Time at={one.last_login_at} />
                  </>
                )}
              </span>
              <Tag tone="info">{one.role}</Tag>
              {mayInvite && (
                <button type="button" class="tiny" aria-label={`Manage ${one.email}`} onClick={() => setManaged(one)}>
                  Manage …
                </button>
              )}
            </li>
          ))}
        </Panel>
      )}
      {invitations.length > 0 && (
        <Panel title="Open invitations">
          {invitations.map((one) => (
            <Open key={one.id} invitation={one} onDone={found.again} />
          ))}
        </Panel>
      )}
      {sessions.length > 0 && (
        <Panel title="Sessions">
          {sessions.map((one) => (
            <Session key={one.id} of={one} keys={keys} onDone={found.again} />
          ))}
        </Panel>
      )}
      <Panel title="Roles">
        {roles.map(([name, doc]) => (
          <li key={name} class="row">
            <Tag tone="info">{name}</Tag> <span>{doc}</span>
          </li>
        ))}
      </Panel>
      {isInviting && <InvitePerson onClose={() => goTo("people")} />}
      {linked !== undefined && <InvitePerson email={linked} onClose={() => setLinked(undefined)} />}
      {managed && (
        <ManagePerson
          person={managed}
          onNewLink={() => {
            setManaged(undefined);
            setLinked(managed.email);
          }}
          onClose={() => {
            setManaged(undefined);
            found.again();
          }}
        />
      )}
    </section>
  );
}

function Panel({ title, children }: { readonly title: string; readonly children: preact.ComponentChildren }) {
  return (
    <section class="panel" aria-label={title}>
      <header>
        <h2>{title}</h2>
      </header>
      <ul class="plain-list people">{children}</ul>
    </section>
  );
}

interface Loaded {
  readonly people: readonly Person[];
  readonly invitations: readonly PersonInvitation[];
  readonly sessions: readonly ConsoleSession[];
  /** Names of API keys by id. */
  readonly keys: ReadonlyMap<string, string>;
}

/** A session may see some of the lists. */
async function loadPeople(): Promise<Loaded> {
  const [people, invitations, sessions, keys] = await Promise.all([
    postern.people.list({ limit: most }).page(),
    postern.personInvitations.list({ limit: most }).page(),
    postern.consoleSessions.list({ limit: most }).page(),
    loadAuthors(),
  ]);
  const now = Date.now();
  const isOpen = ({ expires_at: at }: { readonly expires_at: string | null }): boolean => Date.parse(at ?? "") > now;
  return {
    people: people.items,
    invitations: invitations.items.filter(isOpen),
    sessions: sessions.items.filter(isOpen),
    keys,
  };
}

function Open({ invitation, onDone }: { readonly invitation: PersonInvitation; onDone(): void }) {
  const { id, email, role, expires_at: end } = invitation;
  return (
    <li class="row">
      <span class="grow cut">{email}</span>
      <span class="muted small">
        until <Time at={end ?? ""} />
      </span>
      <Tag>{role}</Tag>
      <Act
        label={`Withdraw the invitation of ${email}`}
        act={() => postern.personInvitations.delete(id)}
        onDone={onDone}
      >
        Withdraw
      </Act>
    </li>
  );
}

interface SessionProps {
  readonly of: ConsoleSession;
  readonly keys: ReadonlyMap<string, string>;
  onDone(): void;
}

function Session({ of, keys, onDone }: SessionProps) {
  const { id, person, api_key: key, ip_address: address, user_agent: browser, created_at: since } = of;
  const { client, client_scopes: scopes } = of;
  const isOwn = id === session.value?.id;
  const who = person === "" ? `key "${keys.get(key?.id ?? "") || (key?.id ?? "")}"` : person.replace(/^person /, "");
  return (
    <li class="row">
      <span class="grow cut">
        {who} {isOwn && <Tag tone="good">this session</Tag>}
        {client !== "" && <Tag>{`${client}: ${scopes.join(", ")}`}</Tag>}
      </span>
      <span class="muted small cut" title={browser}>
        {browserName(browser)}, {address}
      </span>
      <span class="muted small">
        since <Time at={since} />
      </span>
      <Act
        label={client === "" ? `End the session of ${who}` : `Disconnect ${client} of ${who}`}
        act={() => (isOwn ? logOut() : postern.consoleSessions.delete(id))}
        onDone={onDone}
      >
        End
      </Act>
    </li>
  );
}

interface ActProps {
  readonly label: string;
  readonly children: string;
  act(): Promise<unknown>;
  onDone(): void;
}

/** A button that acts immediately, and shows why it could not. */
function Act({ label, children, act, onDone }: ActProps) {
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      await act();
      onDone();
    } catch (failure) {
      setError(explainError(failure).message);
      setBusy(false);
    }
  };
  return (
    <>
      <Failed error={error} />
      <button type="button" class="tiny" aria-label={label} disabled={isBusy} onClick={() => void run()}>
        {children}
      </button>
    </>
  );
}

/** Returns a browser's usual name, such as `Firefox on Linux`. */
function browserName(agent: string): string {
  const browser = /Edg|Firefox|Chrome|Safari|curl/.exec(agent)?.[0];
  const system = /Windows|Android|iPhone|iPad|Mac OS|Linux/.exec(agent)?.[0];
  if (browser === undefined) return agent.slice(0, 40) || "unknown browser";
  return `${browser === "Edg" ? "Edge" : browser}${system === undefined ? "" : ` on ${system}`}`;
}
