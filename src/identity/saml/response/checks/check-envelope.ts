import { ds, saml, samlp } from "../../xml-names.ts";
import { attributeOf, isNamed } from "../../xml/element.ts";
import { partsOf, shapeOf } from "../../xml/shape.ts";
import { issuerIssue, issueInstantIssue } from "../issued.ts";
import type { CheckFailure, Work } from "../work.ts";

/** saml-core §3.2.2, StatusResponseType and Response. */
export const responseShape = shapeOf({ ds, saml, samlp }, [
  "saml:Issuer?",
  "ds:Signature?",
  "samlp:Extensions?",
  "samlp:Status",
  "saml:Assertion|saml:EncryptedAssertion*",
]);

/** 3: a SAML 2.0 Response, issued now, for this address, by this provider. */
export function checkEnvelope(work: Work): CheckFailure {
  const { response, input } = work;
  if (!isNamed(response, samlp, "Response")) return "the document is not a Response";
  if (attributeOf(response, "Version") !== "2.0") return "the Response is not of version 2.0";
  if (!attributeOf(response, "ID")) return "the Response has no ID";
  const late = issueInstantIssue(response, input);
  if (late) return late;
  const { Issuer: [issuer] = [], Signature: [signature] = [] } = partsOf(response, responseShape);
  const destination = attributeOf(response, "Destination");
  if (destination === undefined && signature) return "the Response is signed and has no Destination";
  if (destination !== undefined && destination !== input.acsUrl) return "the Response has another Destination";
  return issuer && issuerIssue(issuer, input.idp.entityId);
}
