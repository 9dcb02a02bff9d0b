import { saml } from "../../xml-names.ts";
import { makeSamlRefusal } from "../../saml-refusal.ts";
import { walkElements, isNamed } from "../../xml/element.ts";
import type { CheckFailure, Work } from "../work.ts";

/** 5: the document contains one Assertion, directly inside the Response. */
export function checkOneAssertion(work: Work): CheckFailure {
  const elements = [...walkElements(work.response)];
  if (elements.some((one) => isNamed(one, saml, "EncryptedAssertion"))) {
    return makeSamlRefusal("saml_encrypted", "the assertion is encrypted");
  }
  const [assertion, ...more] = elements.filter((one) => isNamed(one, saml, "Assertion"));
  if (!assertion) return "there is no Assertion";
  if (more.length > 0) return `there are ${more.length + 1} Assertions`;
  if (assertion.parent !== work.response) return "the Assertion is not directly in the Response";
  work.candidate = assertion;
  return undefined;
}
