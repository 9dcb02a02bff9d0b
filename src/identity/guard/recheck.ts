/** Checks with the provider whether the visitor's identity and groups still hold. Waiting requests share one call. */
import { captureWork } from "../../lib/heartbeat.ts";
import { hash } from "node:crypto";
import type { LoginContext } from "./login-context.ts";
import { LoginRefusal, tidyIdentity } from "../calls/identity.ts";
import type { Identity } from "../calls/identity.ts";
import type { LoginMethod } from "../methods/method.ts";
import type { CheckOutcome, Session } from "../sessions/login-session.ts";

const retryMs = 30_000;
/** How long an edge waits for another edge's check. Longer than most providers take. */
const elsewhereMs = 3_000;
/** No check takes longer, so a claim without a result after this time has failed. */
const claimMs = 15_000;
const longestGraceMs = 3_600_000;

/**
 * @param intervalSeconds check interval of the route. An unreachable provider is tolerated for the same time, but at
 * most one hour.
 */
export function recheckSession(
  session: Session,
  method: LoginMethod,
  intervalSeconds: number,
  context: LoginContext,
): Promise<CheckOutcome> {
  const { clock } = context;
  const graceMs = Math.min(intervalSeconds * 1000, longestGraceMs);
  if (session.uncheckedSince !== undefined && clock.monotonic() < session.retryAt) {
    return Promise.resolve(isBorne(session, clock.monotonic(), graceMs) ? "ok" : "unchecked");
  }
  session.checking ??= checkSession(session, method, graceMs, context).finally(() => {
    session.checking = undefined;
  });
  return session.checking;
}

async function checkSession(
  session: Session,
  method: LoginMethod,
  graceMs: number,
  context: LoginContext,
): Promise<CheckOutcome> {
  const inSameWork = captureWork();
  const { clock, reports, log, end } = context;
  const { id, identity, accessToken, refreshToken, idToken } = session.record;
  if (!method.renew) return "ok";
  try {
    if (inSameWork(await isAskedElsewhere(session, context))) return session.ended ? "ended" : "ok";
    const renewed = inSameWork(
      await method.renew({ access: accessToken, refresh: refreshToken, id: idToken }, identity.subject),
    );
    if (session.ended) return "ended";
    const { access, refresh, id: token } = renewed.tokens;
    session.checked(
      keepOfLogin(identity, renewed.identity),
      { accessToken: access, refreshToken: refresh, idToken: token },
      clock,
    );
    reports.renewed(session.record);
    return "ok";
  } catch (error) {
    if (!(error instanceof LoginRefusal)) throw error;
    if (session.ended) return "ended";
    if (error.reason === "login_withdrawn" || error.reason === "login_token_invalid") {
      log.info("login revoked by its provider", { session: id, reason: error.message });
      end(session, "withdrawn");
      return "ended";
    }
    const now = clock.monotonic();
    session.uncheckedSince ??= now;
    session.retryAt = now + retryMs;
    log.warn("login not checked: its provider did not answer", { session: id, reason: error.message });
    return isBorne(session, now, graceMs) ? "ok" : "unchecked";
  }
}

/**
 * Only one of several edges uses the refresh token, because it may work once and providers end a login whose token is
 * used twice. Resolves with true when another edge's result has arrived. Rejects if no result arrives in time.
 */
async function isAskedElsewhere(session: Session, { reports, clock }: LoginContext): Promise<boolean> {
  const inSameWork = captureWork();
  const { id, accountId, refreshToken } = session.record;
  if (refreshToken === "") return false;
  const name = `renewal ${id} ${hash("sha256", refreshToken, "base64url")}`;
  if (inSameWork(await reports.claimHere(accountId, name, clock.now() + claimMs)) === "first") return false;
  if (session.ended || session.record.refreshToken !== refreshToken) return true;
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = clock.after(elsewhereMs, () =>
    reject(new LoginRefusal("login_busy", "another edge is asking the provider and has no answer yet")),
  );
  try {
    inSameWork(await Promise.race([session.nextCheckAway(), promise]));
  } finally {
    timer.cancel();
  }
  return true;
}

/**
 * The provider's session id and the login time belong to the login. An answer to a check may omit them, and then they
 * are preserved: without the session id, a back-channel logout would end nothing.
 */
function keepOfLogin(before: Identity, identity: Identity): Identity {
  return {
    ...tidyIdentity(identity),
    providerSession: before.providerSession || identity.providerSession,
    authenticatedAt: identity.authenticatedAt || before.authenticatedAt,
  };
}

function isBorne({ uncheckedSince }: Session, now: number, graceMs: number): boolean {
  return uncheckedSince === undefined || now - uncheckedSince < graceMs;
}
