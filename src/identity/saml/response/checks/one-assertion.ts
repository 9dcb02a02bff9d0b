import { saml } from "../../names.ts";
import { refused } from "../../refusal.ts";
import { everyElement, isNamed } from "../../xml/element.ts";
import type { Verdict, Work } from "../work.ts";

/** 5: the document contains one Assertion, directly inside the Response. */
export function checkOneAssertion(work: Work): Verdict {
  const elements = [...everyElement(work.response)];
  if (elements.some((one) => isNamed(one, saml, "EncryptedAssertion"))) {
    return refused("saml_encrypted", "the assertion is encrypted");
  }
  const [assertion, ...more] = elements.filter((one) => isNamed(one, saml, "Assertion"));
  if (!assertion) return "there is no Assertion";
  if (more.length > 0) return `there are ${more.length + 1} Assertions`;
  if (assertion.parent !== work.response) return "the Assertion is not directly in the Response";
  work.candidate = assertion;
  return undefined;
}
