import { ds } from "../../xml-names.ts";
import { keysOf } from "../../signature/signature-keys.ts";
import { verifyEnveloped } from "../../signature/verify-enveloped.ts";
import { walkElements, isNamed } from "../../xml/element.ts";
import type { CheckFailure, Work } from "../work.ts";

/** 6: the Response or the Assertion is signed, or both. Every signature verifies, and none is elsewhere. */
export function checkSignatures(work: Work): CheckFailure {
  const { response, candidate, input } = work;
  const signatures = [...walkElements(response)].filter((one) => isNamed(one, ds, "Signature"));
  if (signatures.length === 0) return "neither Response nor Assertion is signed";
  for (const holder of [response, candidate]) {
    if (signatures.filter(({ parent }) => parent === holder).length > 1) return `the ${holder.local} is signed twice`;
  }
  if (signatures.some(({ parent }) => parent !== response && parent !== candidate)) {
    return "a Signature is neither the Response's nor the Assertion's";
  }
  const keys = keysOf(input.idp.certificates);
  for (const signature of signatures) verifyEnveloped(signature, keys);
  work.assertion = candidate;
  return undefined;
}
