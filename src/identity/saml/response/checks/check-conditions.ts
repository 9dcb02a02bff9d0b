import { readInstant } from "../../instant.ts";
import { saml } from "../../xml-names.ts";
import { attributeOf, elementsIn, isNamed, textIn } from "../../xml/element.ts";
import type { XmlElement } from "../../xml/element.ts";
import type { ResponseInput, CheckFailure, Work } from "../work.ts";

/** Conditions that do not restrict a service that uses an assertion once and issues none (saml-core §2.5.1). */
const harmless = ["OneTimeUse", "ProxyRestriction"];

/** 9: the Assertion is valid now, and intended for this service. */
export function checkConditions({ assertion, input }: Work): CheckFailure {
  const conditions = elementsIn(assertion).find((one) => isNamed(one, saml, "Conditions"));
  if (!conditions) return "the Assertion has no Conditions";
  const time = timeIssue(conditions, input);
  if (time) return time;
  let audiences = 0;
  for (const condition of elementsIn(conditions)) {
    if (isNamed(condition, saml, "AudienceRestriction")) {
      audiences += 1;
      if (!namesUs(condition, input.entityId)) return "the Assertion is for another audience";
    } else if (condition.namespace !== saml || !harmless.includes(condition.local)) {
      return "the Assertion has an unknown condition";
    }
  }
  return audiences === 0 ? "the Assertion has no AudienceRestriction" : undefined;
}

function timeIssue(conditions: XmlElement, { nowMs, skewMs }: ResponseInput): string | undefined {
  const [from, until] = ["NotBefore", "NotOnOrAfter"].map((name) => attributeOf(conditions, name));
  const fromMs = from === undefined ? 0 : readInstant(from);
  const untilMs = until === undefined ? Number.POSITIVE_INFINITY : readInstant(until);
  if (fromMs === undefined || untilMs === undefined) return "the Conditions have an invalid time";
  if (fromMs - skewMs > nowMs) return "the Assertion is not valid yet";
  return untilMs + skewMs <= nowMs ? "the Assertion has expired" : undefined;
}

function namesUs(restriction: XmlElement, entityId: string): boolean {
  const audiences = elementsIn(restriction);
  return audiences.every((one) => isNamed(one, saml, "Audience")) && audiences.some((one) => textIn(one) === entityId);
}
