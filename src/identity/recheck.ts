/** Asking the provider whether somebody is still who and what they were: one call for all who wait. */
import type { LoginContext } from "./context.ts";
import { LoginRefusal } from "./calls/identity.ts";
import type { LoginMethod } from "./method.ts";
import type { CheckOutcome, Session } from "./session.ts";

const retryMs = 30_000;
const longestGraceMs = 3_600_000;

/** @param intervalSeconds of the route; as long is a provider borne that does not answer, but no more than an hour */
export function recheck(
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
  session.checking ??= check(session, method, graceMs, context).finally(() => {
    session.checking = undefined;
  });
  return session.checking;
}

async function check(
  session: Session,
  method: LoginMethod,
  graceMs: number,
  { clock, reports, log, end }: LoginContext,
): Promise<CheckOutcome> {
  const { id, identity, accessToken, refreshToken, idToken } = session.record;
  if (!method.renew) return "ok";
  try {
    const renewed = await method.renew({ access: accessToken, refresh: refreshToken, id: idToken }, identity.subject);
    if (session.ended) return "ended";
    const { access, refresh, id: token } = renewed.tokens;
    session.checked(renewed.identity, { accessToken: access, refreshToken: refresh, idToken: token }, clock);
    reports.renewed(session.record);
    return "ok";
  } catch (error) {
    if (!(error instanceof LoginRefusal)) throw error;
    if (error.reason === "login_withdrawn" || error.reason === "login_token_invalid") {
      log.info("login withdrawn by its provider", { session: id, reason: error.message });
      end(session, "withdrawn");
      return "ended";
    }
    const now = clock.monotonic();
    session.uncheckedSince ??= now;
    session.retryAt = now + retryMs;
    log.warn("login not checked: its provider could not be asked", { session: id, reason: error.message });
    return isBorne(session, now, graceMs) ? "ok" : "unchecked";
  }
}

function isBorne({ uncheckedSince }: Session, now: number, graceMs: number): boolean {
  return uncheckedSince === undefined || now - uncheckedSince < graceMs;
}
