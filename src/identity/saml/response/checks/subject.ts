import { readInstant } from "../../instant.ts";
import { ds, saml } from "../../xml-names.ts";
import { attributeOf, walkElements, isNamed } from "../../xml/element.ts";
import type { XmlElement } from "../../xml/element.ts";
import { partsOf, shapeOf } from "../../xml/shape.ts";
import { makeSamlRefusal } from "../../saml-refusal.ts";
import { issuerIssue, issueInstantIssue } from "../issued.ts";
import { nameIdOf } from "../name-id.ts";
import type { CheckFailure, Work } from "../work.ts";

/** saml-core §2.3.3. */
export const assertionShape = shapeOf({ ds, saml }, [
  "saml:Issuer",
  "ds:Signature?",
  "saml:Subject",
  "saml:Conditions",
  "saml:Advice?",
  "saml:AuthnStatement|saml:AttributeStatement|saml:AuthzDecisionStatement*",
]);
/** saml-core §2.4.1. */
const subjectShape = shapeOf({ saml }, ["saml:NameID", "saml:SubjectConfirmation*"]);

/** 7: a SAML 2.0 Assertion, issued now by this provider, about one readable name. */
export function checkSubject(work: Work): CheckFailure {
  const { assertion, input } = work;
  if (attributeOf(assertion, "Version") !== "2.0") return "the Assertion is not of version 2.0";
  const id = attributeOf(assertion, "ID") ?? "";
  if (id === "" || id.length > 256) return "the Assertion has no ID of 1 to 256 characters";
  const late = issueInstantIssue(assertion, input);
  if (late) return late;
  if ([...walkElements(assertion)].some(isEncrypted))
    return makeSamlRefusal("saml_encrypted", "a part of the assertion is encrypted");
  const { Issuer: [issuer] = [], Subject: [subject] = [] } = partsOf(assertion, assertionShape);
  const foreign = issuerIssue(issuer as XmlElement, input.idp.entityId);
  if (foreign) return foreign;
  const { NameID: [nameId] = [] } = partsOf(subject as XmlElement, subjectShape);
  const read = nameIdOf(nameId as XmlElement, input);
  if (typeof read === "string") return read;
  work.assertionId = id;
  work.issuedMs = readInstant(attributeOf(assertion, "IssueInstant")) as number;
  work.subject = subject as XmlElement;
  work.nameId = read;
  return undefined;
}

function isEncrypted(element: XmlElement): boolean {
  return isNamed(element, saml, "EncryptedID") || isNamed(element, saml, "EncryptedAttribute");
}
