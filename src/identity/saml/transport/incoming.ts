/**
 * Receives an identity provider's messages that are signed as a whole, with either binding (saml-bindings §3.4, §3.5).
 */
import type { KeyObject } from "node:crypto";
import { inflateRawSync } from "node:zlib";
import { readBase64 } from "../base64.ts";
import { ds } from "../xml-names.ts";
import { verifiesWith } from "../signature/signature-keys.ts";
import { UnknownKey } from "../signature/unknown-key.ts";
import { verifyEnveloped } from "../signature/verify-enveloped.ts";
import { walkElements, isNamed, XmlIssue } from "../xml/element.ts";
import type { XmlElement } from "../xml/element.ts";
import { readXml } from "../xml/read-xml.ts";
import { formFields, readRawFields } from "./form-fields.ts";
import type { MessageField } from "./outgoing-message.ts";

export type Delivery =
  /** The query of a GET as received, without `?`. */
  | { readonly binding: "redirect"; readonly query: string }
  /** The body of a POST as received. */
  | { readonly binding: "post"; readonly form: string };

export interface ReceivedMessage {
  readonly field: MessageField;
  readonly message: XmlElement;
  readonly relayState: string | undefined;
}

/** Maximum length, bytes. */
const maxQuery = 65_536;
const maxForm = 524_288;
const maxXml = 262_144;
const limits = { maxLength: maxXml, maxDepth: 32, maxElements: 2000, maxAttributes: 32 };
/** saml-bindings §3.4.4.1: the only encoding. It need not be named. */
const deflate = "urn:oasis:names:tc:SAML:2.0:bindings:URL-Encoding:DEFLATE";
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Throws `XmlIssue` unless exactly one message arrived, in the form of its binding, signed with one of the keys. */
export function receiveMessage(delivery: Delivery, keys: readonly KeyObject[]): ReceivedMessage {
  return delivery.binding === "redirect" ? fromQuery(delivery.query, keys) : fromForm(delivery.form, keys);
}

function fromQuery(query: string, keys: readonly KeyObject[]): ReceivedMessage {
  if (query.length > maxQuery) throw new XmlIssue(`the query is longer than ${maxQuery} bytes`);
  const names = ["SAMLRequest", "SAMLResponse", "RelayState", "SigAlg", "Signature", "SAMLEncoding"] as const;
  const raw = requireReadable(readRawFields(query, names));
  const fields = requireReadable(formFields(query, names));
  if ((fields.SAMLEncoding ?? deflate) !== deflate) throw new XmlIssue("the query has an encoding that is not known");
  const field = requireOneField(fields);
  if (fields.SigAlg === undefined || fields.Signature === undefined) throw new XmlIssue("the query is not signed");
  const relay = raw.RelayState === undefined ? "" : `&RelayState=${raw.RelayState}`;
  const octets = Buffer.from(`${field}=${raw[field]}${relay}&SigAlg=${raw.SigAlg}`, "latin1");
  const signature = readBase64(fields.Signature);
  if (!signature || !verifiesWith(keys, fields.SigAlg, octets, signature)) {
    throw new UnknownKey(
      "the query's signature is not of the profile, or verifies with no certificate of the metadata",
    );
  }
  const message = parseMessage(inflateBytes(bytesOf(fields[field])));
  if (signaturesIn(message).length > 0) throw new XmlIssue("both the message and the query are signed");
  return { field, message, relayState: fields.RelayState };
}

function fromForm(form: string, keys: readonly KeyObject[]): ReceivedMessage {
  if (form.length > maxForm) throw new XmlIssue(`the form is longer than ${maxForm} bytes`);
  const fields = requireReadable(formFields(form, ["SAMLRequest", "SAMLResponse", "RelayState"]));
  const field = requireOneField(fields);
  const message = parseMessage(bytesOf(fields[field]));
  const [signature, ...more] = signaturesIn(message);
  if (!signature) throw new XmlIssue("the message is not signed");
  if (more.length > 0 || signature.parent !== message) throw new XmlIssue("the message's signature is not its own");
  verifyEnveloped(signature, keys);
  return { field, message, relayState: fields.RelayState };
}

function requireReadable<T>(fields: T | string): T {
  if (typeof fields === "string") throw new XmlIssue(fields);
  return fields;
}

function requireOneField(fields: Partial<Record<MessageField, string>>): MessageField {
  const { SAMLRequest: request, SAMLResponse: response } = fields;
  if ((request === undefined) === (response === undefined)) throw new XmlIssue("there is not one message");
  return request === undefined ? "SAMLResponse" : "SAMLRequest";
}

function bytesOf(encoded: string | undefined): Buffer {
  const bytes = readBase64(encoded ?? "");
  if (!bytes) throw new XmlIssue("the message is not base64");
  if (bytes.length > maxXml) throw new XmlIssue(`the message is longer than ${maxXml} bytes`);
  return bytes;
}

function inflateBytes(bytes: Buffer): Buffer {
  try {
    return inflateRawSync(bytes, { maxOutputLength: maxXml });
  } catch {
    throw new XmlIssue(`the message cannot be inflated, or to more than ${maxXml} bytes`);
  }
}

function parseMessage(bytes: Buffer): XmlElement {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new XmlIssue("the message is not UTF-8");
  }
  return readXml(text, limits);
}

function signaturesIn(message: XmlElement): XmlElement[] {
  return [...walkElements(message)].filter((one) => isNamed(one, ds, "Signature"));
}
