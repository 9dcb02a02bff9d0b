import type { SamlRefusal } from "../../saml-refusal.ts";
import { makeSamlRefusal } from "../../saml-refusal.ts";
import { UnknownKey } from "../../signature/unknown-key.ts";
import { XmlIssue } from "../../xml/element.ts";
import { displayNameOf, emailOf } from "../attributes.ts";
import { checkAuthnStatement } from "./authn-statement.ts";
import { checkConditions } from "./check-conditions.ts";
import { checkConfirmation } from "./confirmation.ts";
import { checkDocument } from "./check-document.ts";
import { checkEnvelope } from "./check-envelope.ts";
import { checkForm } from "./check-form.ts";
import { checkGroups } from "./check-groups.ts";
import { checkOneAssertion } from "./one-assertion.ts";
import { checkReplay } from "./check-replay.ts";
import { checkRequest } from "./check-request.ts";
import { checkSignatures } from "./signatures.ts";
import { checkStatus } from "./check-status.ts";
import { checkSubject } from "./subject.ts";
import type { LoginOrigin, ResponseHost, ResponseInput, SamlIdentity, CheckFailure, Work } from "../work.ts";

export type ResponseOutcome =
  | { readonly identity: SamlIdentity; readonly origin: LoginOrigin }
  /** `check`: the name of the check that failed. */
  | { readonly refused: SamlRefusal; readonly check: string };

/** In order. The first failure ends the login (I4). */
const checks: readonly (readonly [name: string, check: (work: Work) => CheckFailure | Promise<CheckFailure>])[] = [
  ["form", checkForm],
  ["document", checkDocument],
  ["envelope", checkEnvelope],
  ["status", checkStatus],
  ["one assertion", checkOneAssertion],
  ["signatures", checkSignatures],
  ["subject", checkSubject],
  ["confirmation", checkConfirmation],
  ["conditions", checkConditions],
  ["authn statement", checkAuthnStatement],
  ["request", checkRequest],
  ["replay", checkReplay],
  ["groups", checkGroups],
];

/**
 * Verifies a browser's request to the Assertion Consumer Service. Nothing in it is trusted before all checks pass.
 * Throws only for internal errors, and errors of `host`.
 */
export async function verifyResponse(input: ResponseInput, host: ResponseHost): Promise<ResponseOutcome> {
  const work = { input, host } as Work;
  for (const [name, check] of checks) {
    const verdict = await verdictOf(check, work);
    if (verdict !== undefined) {
      return {
        refused: typeof verdict === "string" ? makeSamlRefusal("saml_assertion", verdict) : verdict,
        check: name,
      };
    }
  }
  return { identity: identityIn(work), origin: work.origin };
}

/** Faults of structure are thrown deep inside; all other faults are returned. */
async function verdictOf(
  check: (work: Work) => CheckFailure | Promise<CheckFailure>,
  work: Work,
): Promise<CheckFailure> {
  try {
    return await check(work);
  } catch (error) {
    if (error instanceof UnknownKey) return { ...makeSamlRefusal("saml_assertion", error.message), keyUnknown: true };
    if (error instanceof XmlIssue) return error.message;
    throw error;
  }
}

function identityIn(work: Work): SamlIdentity {
  const { nameId, sessionIndex, signedInMs, sessionNotOnOrAfterMs, attributes, groups } = work;
  return {
    ...nameId,
    sessionIndex,
    authnInstantMs: signedInMs,
    ...(sessionNotOnOrAfterMs !== undefined && { sessionNotOnOrAfterMs }),
    attributes,
    email: emailOf(attributes, nameId.nameId, nameId.format),
    name: displayNameOf(attributes),
    groups,
  };
}
