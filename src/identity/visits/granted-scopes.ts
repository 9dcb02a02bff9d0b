/**
 * The scopes that a provider states as granted. They decide nothing: providers repeat scopes under other names, or not
 * at all (RFC 6749 §3.3), so a login is evaluated by its claims. The difference explains a missing claim.
 */
import type { Identity } from "../calls/identity.ts";
import type { LoginMethod } from "../methods/method.ts";
import type { Verdict } from "../sessions/login-verdict.ts";

const shownScopes = 10;

/** For the trace; "" if the answer repeats every scope. */
export function scopesNote(asked: readonly string[], granted: readonly string[]): string {
  const left = asked.filter((one) => !granted.includes(one)).slice(0, shownScopes);
  return left.length === 0
    ? ""
    : `; the provider did not repeat ${left.map((one) => `"${one}"`).join(", ")} in "scope"`;
}

/** The refusal that tells a visitor which scope is missing, if the lists need a claim that depends on it. */
export function refuseFor(
  { errorName = "login_not_listed" }: Verdict,
  { email, memberships }: Identity,
  { neededScopes = [] }: LoginMethod,
  granted: readonly string[],
): NonNullable<Verdict["errorName"]> | "login_email_refused" | "login_scope_missing" {
  if (neededScopes.length === 0 || neededScopes.some((one) => granted.includes(one))) return errorName;
  if (errorName === "login_no_email" && email === "") return "login_email_refused";
  return errorName === "login_not_listed" && memberships.length === 0 ? "login_scope_missing" : errorName;
}
