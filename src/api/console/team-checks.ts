/** Checks console users with the team's identity provider again and handles its logout notifications. */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { LoginRefusal } from "../../identity/calls/identity.ts";
import type { Tokens } from "../../identity/calls/provider-connection.ts";
import type { ProviderLogout } from "../../identity/calls/login-client.ts";
import { consoleCheck } from "../../resources/console-check.ts";
import { consoleSession } from "../../resources/console-session.ts";
import { docOf } from "../../schema/doc.ts";
import type { DocOf } from "../../schema/doc.ts";
import type { Draft, Store, StoredObject } from "../../storage/store.ts";
import { systemWrite } from "../operation/system-write.ts";
import type { Person } from "./admitted-people.ts";
import type { TeamLogin } from "./team-login.ts";
import type { TeamVisit } from "./team-visit.ts";

export interface TeamChecks {
  /** Starts with the result of the login. */
  begin(draft: Draft, session: StoredObject, visit: TeamVisit): void;
  /** Returns the user as the provider last confirmed. Undefined if the last confirmation is too old. */
  personOf(session: StoredObject): Person | undefined;
  /** Returns the visit for another session of the same user. */
  visitOf(session: StoredObject): TeamVisit | undefined;
  /**
   * Checks with the provider if a check is due. Resolves after the check. Undefined if there is nothing to wait for.
   */
  due(session: StoredObject): Promise<void> | undefined;
  /** Ends the sessions that a logout notification names. */
  loggedOut(logout: ProviderLogout): Promise<void>;
}

/** Maximum age of the provider's confirmation before a request starts a check, milliseconds. */
const freshMs = 10 * 60_000;
/** Delay before the next attempt after a check without an answer. */
const retryMs = 60_000;
/** A session without confirmation for this time ends. */
const longestMs = 60 * 60_000;
const kind = consoleCheck.name;
const sessions: ReadonlySet<string> = new Set([consoleSession.name]);
/** Reasons that end a session immediately. All other failures may be temporary. */
const final: ReadonlySet<string> = new Set(["login_withdrawn", "login_token_invalid"]);

export function makeTeamChecks(
  store: Store,
  login: Pick<TeamLogin, "again">,
  clock: Clock,
  log: Pick<Log, "info">,
): TeamChecks {
  const underWay = new Map<string, Promise<void>>();
  const checkOf = (reader: Pick<Store, "children">, session: StoredObject): StoredObject | undefined =>
    [...reader.children(kind, session.id)][0];
  const write = async (session: StoredObject, operation: string, work: (draft: Draft) => boolean | void) =>
    (await store.write(systemWrite(session.account_id, operation, clock), work)).result;
  const end = (session: StoredObject): Promise<boolean | void> =>
    write(session, "endConsoleSession", (draft) => {
      const held = draft.get(session.account_id, consoleSession.name, session.id);
      if (held) draft.delete(held);
    });
  /** Only one of several servers checks, because a refresh token may be valid only once. */
  const claim = (session: StoredObject, { asked_at: seen }: DocOf<typeof consoleCheck>): Promise<boolean | void> =>
    write(session, "checkConsoleSession", (draft) => {
      const held = checkOf(draft, session);
      if (!held || docOf(held, consoleCheck).asked_at !== seen) return false;
      draft.replace(held, { ...held.doc, asked_at: clock.now() });
      return true;
    });
  const ask = async (session: StoredObject, doc: DocOf<typeof consoleCheck>): Promise<void> => {
    if (!(await claim(session, doc))) return;
    const { person: before, tokens } = visitIn(doc);
    try {
      const { person, tokens: renewed } = await login.again(tokens, before.subject);
      await write(session, "checkConsoleSession", (draft) => {
        const held = checkOf(draft, session);
        // Only the login contains the provider's session id, so it is preserved.
        const identity = JSON.stringify({ ...person, providerSession: before.providerSession });
        if (held) {
          draft.replace(held, { ...held.doc, identity, tokens: JSON.stringify(renewed), checked_at: clock.now() });
        }
      });
    } catch (error) {
      if (!(error instanceof LoginRefusal)) throw error;
      const isOver = final.has(error.reason) && tokens.refresh !== "";
      log.info("console user not checked with the identity provider", { reason: error.reason, isOver });
      if (isOver) await end(session);
    }
  };
  return {
    begin(draft, session, { person, tokens, checkedAt = clock.now() }) {
      draft.create(session.account_id, kind, {
        session_id: session.id,
        identity: JSON.stringify(person),
        tokens: JSON.stringify(tokens),
        asked_at: checkedAt,
        checked_at: checkedAt,
      });
    },
    personOf(session) {
      const check = checkOf(store, session);
      const doc = check && docOf(check, consoleCheck);
      return doc && clock.now() - (doc.checked_at ?? 0) < longestMs ? visitIn(doc).person : undefined;
    },
    visitOf(session) {
      const check = checkOf(store, session);
      return check && visitIn(docOf(check, consoleCheck));
    },
    due(session) {
      const check = checkOf(store, session);
      if (!check) return undefined;
      const doc = docOf(check, consoleCheck);
      const now = clock.now();
      if (now - (doc.checked_at ?? 0) < freshMs || now - (doc.asked_at ?? 0) < retryMs) return underWay.get(session.id);
      let asking = underWay.get(session.id);
      if (!asking) {
        asking = ask(session, doc).finally(() => underWay.delete(session.id));
        underWay.set(session.id, asking);
      }
      return asking;
    },
    async loggedOut({ subject, session: providerSession }) {
      const ended = [...store.objects(sessions)].filter((one) => {
        const check = checkOf(store, one);
        if (!check) return false;
        const { person } = visitIn(docOf(check, consoleCheck));
        const isOfSession = providerSession === "" || person.providerSession === providerSession;
        return isOfSession && (subject === "" || person.subject === subject);
      });
      for (const one of ended) await end(one);
    },
  };
}

function visitIn({ identity, tokens, checked_at }: DocOf<typeof consoleCheck>): TeamVisit {
  return {
    person: JSON.parse(identity) as Person,
    tokens: JSON.parse(tokens) as Tokens,
    checkedAt: checked_at ?? 0,
  };
}
