import type { IdpMetadata } from "../metadata/idp-metadata.ts";
import type { SamlRefusal } from "../saml-refusal.ts";
import type { RelayRead } from "../requests/relay.ts";
import type { NameId } from "./name-id.ts";
import type { XmlElement } from "../xml/element.ts";

/** The received response, and the route that it is for. Plain data, because it crosses threads. */
export interface ResponseInput {
  /** The body of the POST as received: application/x-www-form-urlencoded. */
  readonly form: string;
  readonly routeId: string;
  /** The route's `entity_id` and `assertion_consumer_service_url`. */
  readonly entityId: string;
  readonly acsUrl: string;
  readonly idp: IdpMetadata;
  readonly nameIdFormat: string;
  /** Empty if no group is required. */
  readonly authorizedGroups: readonly string[];
  readonly allowIdpInitiated: boolean;
  readonly forceAuthn: boolean;
  /**
   * Destination after a login that started at the provider without RelayState. Set if the edge has one host and the
   * route matches a prefix.
   */
  readonly home?: string;
  /** Keys that may have protected the RelayState, base64, newest first. */
  readonly relayKeys: readonly string[];
  /** Wall clock, milliseconds since 1970. */
  readonly nowMs: number;
  /** Tolerated clock difference, milliseconds. */
  readonly skewMs: number;
}

/** A single-use message. */
export interface MessageClaim {
  /** The message's ID. The provider chooses it, so it must be stored together with the route. */
  readonly messageId: string;
  /** When the message becomes invalid anyway, milliseconds since 1970. */
  readonly untilMs: number;
  /** There was no request for it, so all nodes must share the claim. */
  readonly unsolicited: boolean;
}

/** Questions that only the edge can answer. */
export interface ResponseHost {
  /** Whether a URL in normalized form leads to the route of the login. */
  leadsHere(url: string): Promise<boolean>;
  readonly claim: ClaimMessage;
}

/** Resolves with `first` once per message of the route's provider, and with `unknown` if that cannot be determined. */
export type ClaimMessage = (claim: MessageClaim) => Promise<"first" | "used" | "unknown">;

/** The visitor's identity from a signed assertion. */
export interface SamlIdentity extends NameId {
  /** Empty if there is none. */
  readonly sessionIndex: string;
  /** When the visitor last entered credentials, milliseconds since 1970. */
  readonly authnInstantMs: number;
  /** Latest end of the session, milliseconds since 1970. */
  readonly sessionNotOnOrAfterMs?: number;
  readonly attributes: readonly SamlAttribute[];
  /** Empty if there is none. */
  readonly email: string;
  readonly name: string;
  readonly groups: readonly string[];
}

export interface SamlAttribute {
  readonly name: string;
  /** Text values only. */
  readonly values: readonly string[];
}

/** Where the login started: here, with a flow, or at the provider, which may name a destination. */
export type LoginOrigin =
  | { readonly by: "request"; readonly flowId: string; readonly host: string; readonly sentMs: number }
  | { readonly by: "provider"; readonly url: string };

/** State of the verification. Each check sets fields that later checks read. */
export interface Work {
  readonly input: ResponseInput;
  readonly host: ResponseHost;
  /** Set by check 1. */
  xml: string;
  relayState: string | undefined;
  relay: RelayRead | undefined;
  /** Set by check 2; not verified. */
  response: XmlElement;
  /** Set by check 5; not verified. */
  candidate: XmlElement;
  /** Set by check 6. All later checks read only this element. */
  assertion: XmlElement;
  assertionId: string;
  issuedMs: number;
  nameId: NameId;
  subject: XmlElement;
  /** From the confirmation; undefined if it names no request. */
  inResponseTo: string | undefined;
  confirmedUntilMs: number;
  sessionIndex: string;
  signedInMs: number;
  sessionNotOnOrAfterMs: number | undefined;
  origin: LoginOrigin;
  attributes: readonly SamlAttribute[];
  groups: readonly string[];
}

/** Why a check ends the login: one clause, which implies `saml_assertion`, or its own refusal. */
export type CheckFailure = string | SamlRefusal | undefined;

/** Maximum difference between the issue time and now, milliseconds. */
export const issueWindowMs = 5 * 60 * 1000;
