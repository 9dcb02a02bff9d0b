import { readInstant } from "../instant.ts";
import type { IdpMetadata } from "../metadata/idp-metadata.ts";
import { ds, saml, samlp, status } from "../xml-names.ts";
import type { SamlRefusal } from "../saml-refusal.ts";
import { makeSamlRefusal } from "../saml-refusal.ts";
import { readRelay } from "../requests/relay.ts";
import { statusOf } from "../response/checks/check-status.ts";
import { issueInstantIssue, issuerIssue } from "../response/issued.ts";
import { nameIdOf } from "../response/name-id.ts";
import type { NameId } from "../response/name-id.ts";
import { issueWindowMs } from "../response/work.ts";
import type { ClaimMessage } from "../response/work.ts";
import { keysOf } from "../signature/signature-keys.ts";
import { UnknownKey } from "../signature/unknown-key.ts";
import { receiveMessage } from "../transport/incoming.ts";
import type { Delivery, ReceivedMessage } from "../transport/incoming.ts";
import { attributeOf, isNamed, textIn, XmlIssue } from "../xml/element.ts";
import type { XmlElement } from "../xml/element.ts";
import { partsOf, shapeOf } from "../xml/shape.ts";

export interface LogoutInput {
  readonly delivery: Delivery;
  readonly routeId: string;
  readonly entityId: string;
  /** The route's `single_logout_url`. */
  readonly sloUrl: string;
  readonly nameIdFormat: string;
  readonly idp: IdpMetadata;
  /** See `ResponseInput`. */
  readonly relayKeys: readonly string[];
  readonly nowMs: number;
  readonly skewMs: number;
}

export type LogoutOutcome =
  /**
   * The provider ends the sessions of this name, only those with the given indexes if there are any. Needs an answer.
   */
  | {
      readonly request: {
        readonly id: string;
        readonly name: NameId;
        readonly sessionIndexes: readonly string[];
        /** Returned with the answer. */
        readonly relayState?: string;
      };
    }
  /** The provider answers our request. */
  | {
      readonly response: { readonly flowId: string; readonly host: string; readonly ended: "all" | "some" | "none" };
    }
  | { readonly refused: SamlRefusal };

/** saml-core §3.7.1 and §3.7.2. */
const requestShape = shapeOf({ ds, saml, samlp }, [
  "saml:Issuer",
  "ds:Signature?",
  "samlp:Extensions?",
  "saml:NameID",
  "samlp:SessionIndex*",
]);
const responseShape = shapeOf({ ds, saml, samlp }, [
  "saml:Issuer",
  "ds:Signature?",
  "samlp:Extensions?",
  "samlp:Status",
]);
const maxSessionIndexes = 100;
const maxId = 256;
const maxRelayState = 2048;
/** Time limit for a logout, milliseconds. */
const maxFlowMs = 15 * 60 * 1000;

/** Verifies a message to the Single Logout Service, from either binding. It must be signed (I4). */
export async function verifyLogout(input: LogoutInput, claim: ClaimMessage): Promise<LogoutOutcome> {
  try {
    const received = receiveMessage(input.delivery, keysOf(input.idp.certificates));
    const { field, message } = received;
    checkMessage(message, field === "SAMLRequest" ? "LogoutRequest" : "LogoutResponse", input);
    return field === "SAMLRequest" ? await requestIn(received, input, claim) : responseIn(received, input);
  } catch (error) {
    if (error instanceof XmlIssue) {
      const keyUnknown = error instanceof UnknownKey;
      return {
        refused: { ...makeSamlRefusal("saml_logout_message", error.message), ...(keyUnknown && { keyUnknown }) },
      };
    }
    throw error;
  }
}

/** Checks that requests and responses share. */
function checkMessage(message: XmlElement, name: string, input: LogoutInput): void {
  if (!isNamed(message, samlp, name)) throw new XmlIssue(`the message is not a ${name}`);
  if (attributeOf(message, "Version") !== "2.0") throw new XmlIssue(`the ${name} is not of version 2.0`);
  if (attributeOf(message, "Destination") !== input.sloUrl) throw new XmlIssue(`the ${name} has another Destination`);
  const late = issueInstantIssue(message, input);
  if (late) throw new XmlIssue(late);
}

function checkIssuer(issuer: XmlElement | undefined, { idp }: LogoutInput): void {
  const foreign = issuer && issuerIssue(issuer, idp.entityId);
  if (foreign) throw new XmlIssue(foreign);
}

async function requestIn(received: ReceivedMessage, input: LogoutInput, claim: ClaimMessage): Promise<LogoutOutcome> {
  const { message, relayState } = received;
  const { nowMs, skewMs } = input;
  const parts = partsOf(message, requestShape);
  checkIssuer(parts["Issuer"]?.[0], input);
  const until = attributeOf(message, "NotOnOrAfter");
  const untilMs = until === undefined ? Number.POSITIVE_INFINITY : readInstant(until);
  if (untilMs === undefined || untilMs + skewMs <= nowMs) throw new XmlIssue("the LogoutRequest has expired");
  const name = nameIdOf(parts["NameID"]?.[0] as XmlElement, input);
  if (typeof name === "string") throw new XmlIssue(name);
  const sessionIndexes = (parts["SessionIndex"] ?? []).map(textIn);
  if (sessionIndexes.length > maxSessionIndexes) throw new XmlIssue(`there are more than ${maxSessionIndexes} indexes`);
  if (relayState !== undefined && relayState.length > maxRelayState) throw new XmlIssue("RelayState is too long");
  const id = attributeOf(message, "ID") ?? "";
  if (id === "" || id.length > maxId) throw new XmlIssue(`the LogoutRequest has no ID of 1 to ${maxId} characters`);
  const issuedMs = readInstant(attributeOf(message, "IssueInstant")) as number;
  const claimed = await claim({ messageId: id, untilMs: issuedMs + issueWindowMs + 1, unsolicited: true });
  if (claimed === "used") throw new XmlIssue("the LogoutRequest was already used");
  if (claimed === "unknown") throw new XmlIssue("it is unknown whether the LogoutRequest was already used");
  return { request: { id, name, sessionIndexes, ...(relayState !== undefined && { relayState }) } };
}

function responseIn({ message, relayState }: ReceivedMessage, input: LogoutInput): LogoutOutcome {
  const { routeId, relayKeys, nowMs, skewMs } = input;
  checkIssuer(partsOf(message, responseShape)["Issuer"]?.[0], input);
  const keys = relayKeys.map((key) => Buffer.from(key, "base64"));
  const relay = readRelay(relayState ?? "", { purpose: "logout", routeId }, keys);
  if (!relay || relay.sentMs > nowMs + skewMs) throw new XmlIssue("RelayState was not sent by this server");
  const host = relay.hostBy(attributeOf(message, "InResponseTo"));
  if (host === undefined) throw new XmlIssue("the LogoutResponse is for another request than RelayState");
  if (nowMs - relay.sentMs > maxFlowMs) {
    const minutes = Math.round((nowMs - relay.sentMs) / 60_000);
    return { refused: makeSamlRefusal("saml_logout_late", `the logout started ${minutes} minutes ago`) };
  }
  const [outer, inner] = statusOf(message);
  const ended = outer !== status.success ? "none" : inner === status.partialLogout ? "some" : "all";
  return { response: { flowId: relay.flowId, host, ended } };
}
