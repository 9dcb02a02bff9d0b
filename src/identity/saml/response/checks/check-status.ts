import { samlp, status } from "../../xml-names.ts";
import { makeSamlRefusal } from "../../saml-refusal.ts";
import { attributeOf, elementsIn, isNamed, XmlIssue } from "../../xml/element.ts";
import type { XmlElement } from "../../xml/element.ts";
import type { CheckFailure, Work } from "../work.ts";

/** 4: the provider reports success. */
export function checkStatus({ response }: Work): CheckFailure {
  const codes = statusOf(response);
  if (codes[0] === status.success) return undefined;
  return makeSamlRefusal("saml_status", `the provider's status is ${codes.map(lastPart).join(", ")}`);
}

/** Returns the codes of a response's Status, outermost first (saml-core §3.2.2.2). Throws `XmlIssue` without one. */
export function statusOf(response: XmlElement): readonly string[] {
  const holders = elementsIn(response).filter((one) => isNamed(one, samlp, "Status"));
  const codes: string[] = [];
  let at = holders.length === 1 ? holders[0] : undefined;
  while (at) {
    const nested: XmlElement[] = elementsIn(at).filter((one) => isNamed(one, samlp, "StatusCode"));
    if (nested.length > 1) throw new XmlIssue("the Status has two codes beside each other");
    at = nested[0];
    if (at) codes.push(attributeOf(at, "Value") ?? "");
  }
  if (codes.length === 0) throw new XmlIssue("the response has no StatusCode");
  return codes;
}

/** The last part of an identifier, which people recognise. */
function lastPart(code: string): string {
  return JSON.stringify(code.slice(code.lastIndexOf(":") + 1).slice(0, 60));
}
