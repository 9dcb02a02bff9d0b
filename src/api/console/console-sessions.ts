/** Stored console sessions. Each belongs to the API key that opened it, or to a person. */
import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { randomText } from "../../lib/ids.ts";
import { hashToken } from "../../lib/tokens.ts";
import { consoleSession } from "../../resources/console-session.ts";
import { docOf, emptyDoc } from "../../schema/doc.ts";
import type { DocOf } from "../../schema/doc.ts";

import type { Reader, Store, StoredObject } from "../../storage/store.ts";
import type { Members } from "./members.ts";
import type { Admitted, People, Person } from "./admitted-people.ts";
import type { TeamChecks } from "./team-checks.ts";

import type { Key, KeyRing } from "../http/authenticate.ts";
import type { OpenSession, Opener } from "./open-session.ts";

/** An application that a person connects to `/mcp`. */
export interface Application {
  /** Its own name. */
  readonly client: string;
  readonly client_scopes: readonly string[];
  /** The grant, as JSON. */
  readonly grant: string;
  /** When the request expires unless the person confirms it, milliseconds since 1970. */
  readonly untilMs: number;
}

export interface ConsoleSessions {
  /**
   * Resolves with the cookie's value.
   * @param opener undefined for a login with a key
   */
  open(
    key: Key,
    opener: Opener | undefined,
    request: IncomingMessage,
    operationId: string,
  ): Promise<{ readonly cookie: string; readonly session: OpenSession }>;
  /** Creates the session of an application, which has no cookie and, before the person has confirmed, no token. */
  connect(
    key: Key,
    opener: Opener,
    application: Application,
    request: IncomingMessage,
    operationId: string,
  ): Promise<StoredObject>;
  /** Throws `Refusal` if the cookie belongs to no open session. */
  find(cookie: string): OpenSession;
  /** Returns the session with the user's present permissions. Throws `Refusal` if it has ended. */
  current(object: StoredObject): OpenSession;
  /**
   * Looks for a session that another server may have just opened, and repeats a due check with the identity provider.
   * Undefined if there is nothing to wait for.
   */
  awaited(cookie: string): Promise<unknown> | undefined;
  /** Whether `find` would find it. */
  holds(cookie: string): boolean;
  close(session: OpenSession, request: IncomingMessage, operationId: string): Promise<void>;
}

const livesMs = 12 * 3_600_000;
/** Maximum number of sessions per key. The session that expires first is evicted. */
const maxOfKey = 100;
const kind = consoleSession.name;

export function openConsoleSessions(
  store: Store,
  keys: KeyRing,
  team: { readonly people: People; readonly checks: TeamChecks } | undefined,
  members: Pick<Members, "find">,
  clock: Clock,
): ConsoleSessions {
  /** Applies the current rules, so that a session never has more access than its user. */
  const admitted = (person: Person, accountId: string): Admitted => {
    try {
      if (team) return team.people.admit(person, accountId);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
    throw new Refusal("console_session_ended");
  };
  const find = (cookie: string): OpenSession => {
    // A global name, because cookies do not contain an account.
    const object = store.holder("", "console cookie", hashToken(cookie).toString("hex"));
    if (!object) throw new Refusal("console_session_ended");
    return current(object);
  };
  const current = (object: StoredObject): OpenSession => {
    if (endOf(object) <= clock.now()) throw new Refusal("console_session_ended");
    const { api_key_id: keyId, identity, person_id: personId, passkey_id: passkeyId } = docOf(object, consoleSession);
    const expiresAtMs = endOf(object);
    if (identity !== "") {
      const person = team?.checks.personOf(object);
      if (!person) throw new Refusal("console_session_ended");
      const { key, role } = admitted(person, object.account_id);
      return { object, key, expiresAtMs, person, who: { email: person.email, name: person.name, role } };
    }
    if (personId !== "") {
      // With an identity provider, its users alone are people of the console.
      const member = team ? undefined : members.find(object.account_id, personId, passkeyId);
      if (!member) throw new Refusal("console_session_ended");
      return { object, ...member, expiresAtMs };
    }
    const key = keys.current(keyId ?? "");
    if (!key) throw new Refusal("console_session_ended");
    return { object, key, expiresAtMs };
  };
  const create = makeCreate(store, team);
  return {
    async open(key, opener, request, operationId) {
      const cookie = randomText(50);
      const { expiresAtMs: keyEndsMs = Infinity } = key.principal;
      const expiresAtMs = Math.min(clock.now() + livesMs, keyEndsMs, opener?.visit?.endsAt ?? Infinity);
      const more = { expires_at: formatTimestamp(expiresAtMs), cookie_hash: hashToken(cookie).toString("hex") };
      const made = { request, operation: "openConsoleSession", operationId };
      const object = await create(key, opener, more, made);
      return { cookie, session: opener ? find(cookie) : { object, key, expiresAtMs } };
    },
    connect(key, opener, { untilMs, ...application }, request, operationId) {
      const made = { request, operation: "connectApplication", operationId };
      return create(key, opener, { ...application, expires_at: formatTimestamp(untilMs) }, made);
    },
    current,
    find,
    awaited(cookie) {
      const found = store.holder("", "console cookie", hashToken(cookie).toString("hex"));
      if (found) return team?.checks.due(found);
      return store.node && store.refresh().catch(() => false);
    },
    holds(cookie) {
      try {
        find(cookie);
        return true;
      } catch (error) {
        if (error instanceof Refusal) return false;
        throw error;
      }
    },
    async close(session, request, operationId) {
      const { object, key } = session;
      await store.write(contextOf(key, { request, operation: "closeConsoleSession", operationId }), (draft) => {
        const found = draft.get(object.account_id, kind, object.id);
        if (found) draft.delete(found);
      });
    },
  };
}

/** The request that makes a session. */
interface SessionRequest {
  readonly request: IncomingMessage;
  readonly operation: string;
  readonly operationId: string;
}

function contextOf({ principal }: Key, { request, operation, operationId }: SessionRequest) {
  return {
    principal: { accountId: principal.accountId, id: principal.id, source: request.socket.remoteAddress ?? "" },
    operation,
    operationId,
  };
}

type Create = (
  key: Key,
  opener: Opener | undefined,
  more: Partial<DocOf<typeof consoleSession>>,
  made: SessionRequest,
) => Promise<StoredObject>;

/** Creates sessions, and evicts the oldest ones of users with too many. */
function makeCreate(store: Store, team: { readonly checks: TeamChecks } | undefined): Create {
  return async (key, opener, more, made) => {
    const { accountId, id } = key.principal;
    const { visit } = opener ?? {};
    const doc = {
      ...emptyDoc(consoleSession.fields),
      // An application of a key's session has the key, and no person.
      ...(opener && !opener.isKey ? { person: id } : { api_key_id: id }),
      identity: visit ? JSON.stringify(visit.person) : "",
      person_id: opener?.personId ?? "",
      passkey_id: opener?.passkeyId ?? "",
      ip_address: made.request.socket.remoteAddress ?? "",
      user_agent: cutText(made.request.headers["user-agent"] ?? ""),
      ...more,
    };
    const { result } = await store.write(contextOf(key, made), (draft) => {
      opener?.also?.(draft);
      const openSessions = [...(doc.person !== "" ? ofPerson(draft, accountId, id) : draft.children(kind, id))].sort(
        (a, b) => endOf(a) - endOf(b),
      );
      const tooMany = openSessions.length + 1 - maxOfKey;
      for (const [at, old] of openSessions.entries())
        if (at < tooMany || endOf(old) <= store.settledNow()) draft.delete(old);
      const session = draft.create(accountId, kind, doc);
      if (visit) team?.checks.begin(draft, session, visit);
      return session;
    });
    return result as StoredObject;
  };
}

/** Sessions of a user without a key. An account has few of them. */
function ofPerson(reader: Reader, accountId: string, name: string): readonly StoredObject[] {
  const { objects } = reader.page(accountId, kind, { limit: Infinity });
  return objects.filter((one) => docOf(one, consoleSession).person === name);
}

/**
 * Returns the token that our pages send with changes. Other sites cannot know it: it is derived from the cookie, which
 * scripts cannot read.
 */
export function pageToken(cookie: string): string {
  return hash("sha256", `postern console token:${cookie}`);
}

/** Compares in constant time. */
export function isPageToken(given: string | string[] | undefined, cookie: string): boolean {
  const wanted = Buffer.from(pageToken(cookie));
  const bytes = Buffer.from(typeof given === "string" ? given : "");
  return bytes.length === wanted.length && timingSafeEqual(bytes, wanted);
}

function endOf(object: StoredObject): number {
  return Date.parse(docOf(object, consoleSession).expires_at ?? "");
}

function cutText(text: string): string {
  return Buffer.from(text, "latin1")
    .subarray(0, 255)
    .toString("latin1")
    .replaceAll(/[^\x20-\x7e]/g, "?");
}
