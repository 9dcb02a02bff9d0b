import { randomBytes } from "node:crypto";
import { writeInstant } from "../instant.ts";
import type { IdpMetadata } from "../metadata/idp-metadata.ts";
import { saml, samlp, status } from "../xml-names.ts";
import type { NameId } from "../response/name-id.ts";
import type { FlowInput } from "../requests/authn-request.ts";
import { makeRelay, requestIdOf } from "../requests/relay.ts";
import { sendTo } from "../transport/outgoing-message.ts";
import type { Outgoing } from "../transport/outgoing-message.ts";
import { writeElement } from "../xml/write.ts";

export interface LogoutRequestInput extends FlowInput {
  /** As received in the assertion. */
  readonly name: NameId;
  /** Empty if there is none. */
  readonly sessionIndex: string;
}

export interface LogoutResponseInput {
  readonly entityId: string;
  readonly idp: IdpMetadata;
  readonly signingKeyPem: string;
  /** The `id` and `relayState` of the answered request. */
  readonly inResponseTo: string;
  readonly relayState?: string;
  readonly nowMs: number;
}

/** How long the provider may act on the request, milliseconds. */
const requestLivesMs = 5 * 60 * 1000;

/** Returns a signed LogoutRequest (saml-core §3.7.1); undefined if the provider offers no supported logout binding. */
export function makeLogoutRequest(input: LogoutRequestInput): Outgoing | undefined {
  const { idp, name, signingKeyPem } = input;
  const { redirect, post } = idp.signOut;
  const to = { redirect: redirect?.location, post: post?.location };
  const key = Buffer.from(input.relayKey, "base64");
  const relayFor = { purpose: "logout", routeId: input.routeId } as const;
  const relay = { flowId: input.flowId, host: input.host, sentMs: input.nowMs };
  const relayState = makeRelay(relay, relayFor, key);
  const message = writeElement(
    "samlp:LogoutRequest",
    {
      "xmlns:samlp": samlp,
      "xmlns:saml": saml,
      ID: requestIdOf(relay, relayFor, key),
      Version: "2.0",
      IssueInstant: writeInstant(input.nowMs),
      NotOnOrAfter: writeInstant(input.nowMs + requestLivesMs),
      Destination: to.redirect ?? to.post,
    },
    writeElement("saml:Issuer", {}, input.entityId),
    writeElement(
      "saml:NameID",
      { Format: name.format, NameQualifier: name.nameQualifier, SPNameQualifier: name.spNameQualifier },
      name.nameId,
    ),
    input.sessionIndex === "" ? undefined : writeElement("samlp:SessionIndex", {}, input.sessionIndex),
  );
  return sendTo(omitUndefined(to), { message, field: "SAMLRequest", relayState, signingKeyPem });
}

/** Returns a signed LogoutResponse with status success (saml-core §3.7.2); undefined as above. */
export function makeLogoutResponse(input: LogoutResponseInput): Outgoing | undefined {
  const { redirect, post } = input.idp.signOut;
  const to = { redirect: redirect?.responseLocation, post: post?.responseLocation };
  const message = writeElement(
    "samlp:LogoutResponse",
    {
      "xmlns:samlp": samlp,
      "xmlns:saml": saml,
      ID: `_${randomBytes(20).toString("hex")}`,
      Version: "2.0",
      IssueInstant: writeInstant(input.nowMs),
      Destination: to.redirect ?? to.post,
      InResponseTo: input.inResponseTo,
    },
    writeElement("saml:Issuer", {}, input.entityId),
    writeElement("samlp:Status", {}, writeElement("samlp:StatusCode", { Value: status.success })),
  );
  const { relayState, signingKeyPem } = input;
  return sendTo(omitUndefined(to), { message, field: "SAMLResponse", relayState, signingKeyPem });
}

function omitUndefined(to: Readonly<Record<"redirect" | "post", string | undefined>>): {
  redirect?: string;
  post?: string;
} {
  return {
    ...(to.redirect !== undefined && { redirect: to.redirect }),
    ...(to.post !== undefined && { post: to.post }),
  };
}
