import { deflateRawSync } from "node:zlib";
import type { BindingName } from "../metadata/idp-metadata.ts";
import { ours } from "../signature/xml-algorithms.ts";
import { signEnveloped, signRsaSha256 } from "../signature/sign.ts";
import type { Markup } from "../xml/write.ts";

export type MessageField = "SAMLRequest" | "SAMLResponse";

/** A signed message for the identity provider, sent through the browser. */
export type Outgoing =
  | { readonly binding: "redirect"; readonly url: string }
  /** A form that the browser posts to `url`. Its values are not escaped. */
  | { readonly binding: "post"; readonly url: string; readonly fields: Readonly<Partial<Record<string, string>>> };

export interface Envelope {
  readonly message: Markup;
  readonly field: MessageField;
  /** Sent unchanged; not sent if undefined. */
  readonly relayState: string | undefined;
  readonly signingKeyPem: string;
}

/** Uses redirect if the provider supports it, otherwise POST. Returns undefined if it supports neither. */
export function sendTo(to: Partial<Record<BindingName, string>>, envelope: Envelope): Outgoing | undefined {
  if (to.redirect !== undefined) return { binding: "redirect", url: redirectUrl(to.redirect, envelope) };
  return to.post === undefined ? undefined : { binding: "post", url: to.post, fields: formOf(envelope) };
}

/** saml-bindings §3.4.4.1: the signature covers the query as written, in this order. */
function redirectUrl(location: string, { message, field, relayState, signingKeyPem }: Envelope): string {
  let query = `${field}=${encodeURIComponent(deflateRawSync(message.xml).toString("base64"))}`;
  if (relayState !== undefined) query += `&RelayState=${encodeURIComponent(relayState)}`;
  query += `&SigAlg=${encodeURIComponent(ours.signature)}`;
  const signature = signRsaSha256(query, signingKeyPem).toString("base64");
  return `${location}${location.includes("?") ? "&" : "?"}${query}&Signature=${encodeURIComponent(signature)}`;
}

function formOf({ message, field, relayState, signingKeyPem }: Envelope): Readonly<Partial<Record<string, string>>> {
  const signed = signEnveloped(message, signingKeyPem);
  return {
    [field]: Buffer.from(signed.xml).toString("base64"),
    ...(relayState !== undefined && { RelayState: relayState }),
  };
}
