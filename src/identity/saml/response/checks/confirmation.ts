import { readInstant } from "../../instant.ts";
import { bearer, saml } from "../../xml-names.ts";
import { attributeOf, elementsIn, isNamed } from "../../xml/element.ts";
import type { XmlElement } from "../../xml/element.ts";
import type { CheckFailure, Work } from "../work.ts";

/**
 * 8: the bearer may use the assertion here and now, for the request that the Response answers (saml-profiles §4.1.4.2).
 */
export function checkConfirmation(work: Work): CheckFailure {
  const confirmations = elementsIn(work.subject).filter((one) => isNamed(one, saml, "SubjectConfirmation"));
  const bearers = confirmations.filter((one) => attributeOf(one, "Method") === bearer);
  let issue = "the Assertion has no bearer SubjectConfirmation";
  for (const confirmation of bearers) {
    const data = elementsIn(confirmation).filter((one) => isNamed(one, saml, "SubjectConfirmationData"));
    const [only] = data;
    const found =
      only && data.length === 1
        ? dataIssue(only, work)
        : "a SubjectConfirmation does not have exactly one SubjectConfirmationData";
    if (found === undefined) return undefined;
    issue = found;
  }
  return issue;
}

function dataIssue(data: XmlElement, work: Work): string | undefined {
  const { acsUrl, nowMs, skewMs } = work.input;
  if (attributeOf(data, "Recipient") !== acsUrl) return "the SubjectConfirmation has another Recipient";
  if (attributeOf(data, "NotBefore") !== undefined) return "the SubjectConfirmation has a NotBefore";
  const untilMs = readInstant(attributeOf(data, "NotOnOrAfter"));
  if (untilMs === undefined) return "the SubjectConfirmation has no valid NotOnOrAfter";
  if (untilMs + skewMs <= nowMs) return "the SubjectConfirmation has expired";
  const inResponseTo = attributeOf(data, "InResponseTo");
  if (inResponseTo !== attributeOf(work.response, "InResponseTo")) {
    return "the SubjectConfirmation is for another request than the Response";
  }
  work.confirmedUntilMs = untilMs;
  work.inResponseTo = inResponseTo;
  return undefined;
}
