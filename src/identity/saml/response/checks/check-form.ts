import { readBase64 } from "../../base64.ts";
import { readRelay } from "../../requests/relay.ts";
import type { CheckFailure, Work } from "../work.ts";
import { formFields } from "../../transport/form-fields.ts";

/** Maximum size of the body, and of the XML in it, bytes. */
const maxForm = 524_288;
const maxXml = 262_144;
/** Our RelayState has 80 bytes; a provider's is a URL. */
const maxRelayState = 2048;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** 1: one SAMLResponse and at most one RelayState, each in the required form (saml-bindings §3.5.4). */
export function checkForm(work: Work): CheckFailure {
  const { form, routeId, relayKeys } = work.input;
  if (form.length > maxForm) return `the form is longer than ${maxForm} bytes`;
  const fields = formFields(form, ["SAMLResponse", "RelayState"]);
  if (typeof fields === "string") return fields;
  const { SAMLResponse: encoded, RelayState: relayState } = fields;
  if (encoded === undefined) return "the form has no SAMLResponse";
  if (relayState !== undefined && relayState.length > maxRelayState) return "RelayState is too long";
  const bytes = readBase64(encoded);
  if (!bytes) return "SAMLResponse is not base64";
  if (bytes.length > maxXml) return `the response is longer than ${maxXml} bytes`;
  try {
    work.xml = utf8.decode(bytes);
  } catch {
    return "the response is not UTF-8";
  }
  work.relayState = relayState === "" ? undefined : relayState;
  const keys = relayKeys.map((key) => Buffer.from(key, "base64"));
  work.relay = readRelay(relayState ?? "", { purpose: "login", routeId }, keys);
  return undefined;
}
