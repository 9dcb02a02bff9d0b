import { writeInstant } from "../instant.ts";
import type { IdpMetadata } from "../metadata/idp-metadata.ts";
import { bindings, saml, samlp } from "../xml-names.ts";
import { sendTo } from "../transport/outgoing-message.ts";
import type { Outgoing } from "../transport/outgoing-message.ts";
import { writeElement } from "../xml/write.ts";
import { makeRelay, requestIdOf } from "./relay.ts";

/** Our side of a flow to the provider and back. */
export interface FlowInput {
  readonly routeId: string;
  readonly entityId: string;
  readonly idp: IdpMetadata;
  /** The route's `request_signing_key_pem`. */
  readonly signingKeyPem: string;
  /** 128 bits in base64url. */
  readonly flowId: string;
  /** See `Relay`. */
  readonly host: string;
  /** The newest RelayState key, base64. */
  readonly relayKey: string;
  /** Wall clock, milliseconds since 1970. */
  readonly nowMs: number;
}

export interface AuthnRequestInput extends FlowInput {
  readonly acsUrl: string;
  readonly nameIdFormat: string;
  readonly forceAuthn: boolean;
}

/** Returns a signed AuthnRequest (saml-core §3.4.1), by redirect if the provider supports it, otherwise by POST. */
export function makeAuthnRequest(input: AuthnRequestInput): Outgoing {
  const { idp, signingKeyPem } = input;
  const key = Buffer.from(input.relayKey, "base64");
  const to = { purpose: "login", routeId: input.routeId } as const;
  const relay = { flowId: input.flowId, host: input.host, sentMs: input.nowMs };
  const relayState = makeRelay(relay, to, key);
  const id = requestIdOf(relay, to, key);
  const destination = idp.signOn.redirect ?? idp.signOn.post;
  const message = writeElement(
    "samlp:AuthnRequest",
    {
      "xmlns:samlp": samlp,
      "xmlns:saml": saml,
      ID: id,
      Version: "2.0",
      IssueInstant: writeInstant(input.nowMs),
      Destination: destination,
      ForceAuthn: input.forceAuthn ? "true" : undefined,
      ProtocolBinding: bindings.post,
      AssertionConsumerServiceURL: input.acsUrl,
    },
    writeElement("saml:Issuer", {}, input.entityId),
    writeElement("samlp:NameIDPolicy", { Format: input.nameIdFormat, AllowCreate: "true" }),
  );
  const outgoing = sendTo(idp.signOn, { message, field: "SAMLRequest", relayState, signingKeyPem });
  if (!outgoing) throw new Error("make AuthnRequest: the metadata has no sign-on URL");
  return outgoing;
}
