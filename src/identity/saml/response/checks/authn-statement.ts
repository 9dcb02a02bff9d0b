import { readInstant } from "../../instant.ts";
import { saml } from "../../xml-names.ts";
import { makeSamlRefusal } from "../../saml-refusal.ts";
import { attributeOf, elementsIn, isNamed } from "../../xml/element.ts";
import { isVisible } from "../name-id.ts";
import { issueWindowMs } from "../work.ts";
import type { CheckFailure, Work } from "../work.ts";

const maxSessionIndex = 256;

/** 10: the visitor authenticated once, at a time that the route accepts. */
export function checkAuthnStatement(work: Work): CheckFailure {
  const { nowMs, skewMs, forceAuthn } = work.input;
  const statements = elementsIn(work.assertion).filter((one) => isNamed(one, saml, "AuthnStatement"));
  const [statement, ...more] = statements;
  if (!statement || more.length > 0) {
    return makeSamlRefusal("saml_authn_statement", `the Assertion has ${statements.length} AuthnStatements`);
  }
  const signedInMs = readInstant(attributeOf(statement, "AuthnInstant"));
  if (signedInMs === undefined) return "the AuthnStatement has no valid AuthnInstant";
  if (signedInMs > nowMs + issueWindowMs) return "the time of the sign-in is in the future";
  // Without our request, the route can only require that the authentication was recent.
  const sinceMs = work.relay?.sentMs ?? nowMs - issueWindowMs;
  if (forceAuthn && signedInMs + skewMs < sinceMs) return "the provider did not authenticate the visitor again";
  const until = attributeOf(statement, "SessionNotOnOrAfter");
  const untilMs = readInstant(until);
  if (until !== undefined && untilMs === undefined) return "SessionNotOnOrAfter cannot be read";
  if (untilMs !== undefined && untilMs + skewMs <= nowMs) return "the session at the provider has ended";
  const sessionIndex = attributeOf(statement, "SessionIndex") ?? "";
  if (sessionIndex.length > maxSessionIndex || !isVisible(sessionIndex))
    return "SessionIndex is too long or contains invisible characters";
  work.sessionIndex = sessionIndex;
  work.signedInMs = signedInMs;
  work.sessionNotOnOrAfterMs = untilMs;
  return undefined;
}
