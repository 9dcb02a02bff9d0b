/**
 * Stores the logins that edges report as users and sessions. All edges can then load them, and an operator can end
 * them.
 */
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { docOf, expiresAt, recordOf, sessionKind } from "../../identity/sessions/session-records.ts";
import type { LoginBrowser, LoginReport, LoginUse } from "../../identity/sessions/login-reports.ts";
import type { SessionRecord } from "../../identity/sessions/login-session.ts";
import type { Draft, Store, StoredObject } from "../../storage/store.ts";
import type { EdgeObserver } from "../edges/edges.ts";
import { systemWrite } from "../operation/system-write.ts";
import { describeUserAgent } from "./describe-user-agent.ts";

const userKind = "application_user";

export interface LoginBookOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Edges end a session after this number of days without use. */
  readonly idleDays: number;
}

export function keepLoginBook({ store, clock, log, idleDays }: LoginBookOptions): EdgeObserver {
  const write = async (accountId: string, operation: string, work: (draft: Draft) => void): Promise<void> => {
    try {
      await store.write(systemWrite(accountId, operation, clock), work);
    } catch (error) {
      log.warn("login not stored", { account: accountId, operation, error });
    }
  };
  const changeSession = (
    draft: Draft,
    accountId: string,
    id: string,
    change: (doc: StoredObject["doc"]) => StoredObject["doc"],
  ): StoredObject | undefined => {
    const session = draft.get(accountId, sessionKind, id);
    return session && draft.replace(session, change(session.doc));
  };
  const used = (draft: Draft, list: readonly LoginUse[]): void => {
    for (const [accountId, id, at] of list) {
      const session = changeSession(draft, accountId, id, (doc) => {
        // If a clock was behind, a session must not look unused.
        if (Date.parse(String(doc["last_active"])) >= at) return doc;
        const used = { ...doc, last_active: formatTimestamp(at) };
        const record = recordOf({ id, account_id: accountId, doc: used });
        return record ? { ...used, expires_at: formatTimestamp(expiresAt(record, idleDays)) } : used;
      });
      const user = session && draft.get(accountId, userKind, String(session.doc["application_user_id"]));
      const isNews = user && Date.parse(String(user.doc["last_active"])) < at;
      if (isNews) draft.replace(user, { ...user.doc, last_active: formatTimestamp(at) });
    }
  };

  const take = async (report: LoginReport, send: (call: number) => void): Promise<void> => {
    switch (report.type) {
      case "login":
        await write(report.session.accountId, "login", (draft) =>
          storeLogin(draft, report.session, report.browser, idleDays),
        );
        send(report.call);
        return;
      case "login_renewed":
        await write(
          report.session.accountId,
          "renewLogin",
          (draft) =>
            void changeSession(draft, report.session.accountId, report.session.id, (doc) => {
              const renewed = docOf({ ...report.session, userId: String(doc["application_user_id"]) });
              // The edge may not know yet that the client has renewed its tokens.
              const { cookie_hash, grant, ends_at } = doc;
              return {
                ...doc,
                ...renewed,
                ...(grant !== undefined && grant !== "" && { cookie_hash, grant, ends_at }),
              };
            }),
        );
        return;
      case "logout":
        await write(report.accountId, "logout", (draft) => {
          for (const id of report.sessionIds) {
            const session = draft.get(report.accountId, sessionKind, id);
            if (session) draft.delete(session);
          }
        });
        return;
      case "login_activity":
        for (const [accountId, list] of Map.groupBy(report.used, ([account]) => account)) {
          await write(accountId, "useLogin", (draft) => used(draft, list));
        }
        return;
      case "authorization_asked":
      case "login_wanted":
      case "message_claim":
      case "metadata_wanted":
      case "token_activity":
        return;
    }
  };
  return {
    receive(message, line) {
      switch (message.type) {
        case "login_wanted":
          runUnattended(
            "message",
            findLogin(store, message).then((object) => line.send({ type: "login_found", call: message.call, object })),
          );
          return;
        case "login":
        case "login_renewed":
        case "login_activity":
        case "logout":
          runUnattended(
            "message",
            take(message, (call) => line.send({ type: "login_stored", call })),
          );
      }
    },
  };
}

type WantedSession = Pick<Extract<LoginReport, { type: "login_wanted" }>, "accountId" | "cookieHash">;

/** Another node may have stored the login just now. Edges ask at most 50 times a second. */
async function findLogin(store: Store, { accountId, cookieHash }: WantedSession): Promise<StoredObject | null> {
  const own = (): StoredObject | null => {
    const found = store.holder(accountId, "login cookie", cookieHash);
    return found?.account_id === accountId ? found : null;
  };
  if (own() === null && store.node) await store.refresh().catch(() => false);
  return own();
}

/**
 * Stores one user per (provider, id) of an account, over all its edges. A session that is reported again is stored
 * once.
 */
function storeLogin(draft: Draft, session: SessionRecord, browser: LoginBrowser, idleDays: number): void {
  const { accountId, identity, providerName, providerUrl, id, userId, loginAt } = session;
  if (draft.get(accountId, sessionKind, id)) return;
  const at = formatTimestamp(loginAt);
  const fields = {
    identity_provider: { name: providerName, url: providerUrl },
    provider_user_id: identity.subject,
    username: identity.username.slice(0, 255),
    email: identity.email.slice(0, 320),
    name: identity.name.slice(0, 255),
    last_active: at,
    last_login: at,
  };
  const known = draft.holder(accountId, `application user of ${providerUrl}`, identity.subject);
  const user = known
    ? draft.replace(known, { ...known.doc, ...fields })
    : draft.revive({ kind: userKind, id: userId, account_id: accountId, revision: 0, created_at: at, doc: fields });
  const doc = {
    ...docOf({ ...session, userId: user.id }),
    public_url: browser.publicUrl,
    browser_session: {
      user_agent: describeUserAgent(browser.userAgent),
      ip_address: browser.address,
      location: null,
    },
    last_active: at,
    expires_at: formatTimestamp(expiresAt(session, idleDays)),
  };
  draft.revive({ kind: sessionKind, id, account_id: accountId, revision: 0, created_at: at, doc });
}
