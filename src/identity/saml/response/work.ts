import type { IdpMetadata } from "../metadata/idp-metadata.ts";
import type { SamlRefusal } from "../refusal.ts";
import type { RelayRead } from "../requests/relay.ts";
import type { NameId } from "./name-id.ts";
import type { XmlElement } from "../xml/element.ts";

/** What has come, and what is known of the route that it came for. Plain data: it crosses threads. */
export interface ResponseInput {
  /** The body of the POST as received: application/x-www-form-urlencoded. */
  readonly form: string;
  readonly routeId: string;
  /** The route's `entity_id` and `assertion_consumer_service_url`. */
  readonly entityId: string;
  readonly acsUrl: string;
  readonly idp: IdpMetadata;
  readonly nameIdFormat: string;
  /** Empty: no group is asked for. */
  readonly authorizedGroups: readonly string[];
  readonly allowIdpInitiated: boolean;
  readonly forceAuthn: boolean;
  /**
   * Where a login leads that was begun at the provider without RelayState: given when the edge has one host and the
   * route's match is a prefix.
   */
  readonly home?: string;
  /** Under which RelayState may have been sent out, base64; the newest first. */
  readonly relayKeys: readonly string[];
  /** Wall clock, milliseconds since 1970. */
  readonly nowMs: number;
  /** Clocks may differ by this much, milliseconds. */
  readonly skewMs: number;
}

/** A message that may be taken once. */
export interface MessageClaim {
  /** Its ID: of the provider's own making, so it is to be kept together with the route. */
  readonly messageId: string;
  /** The message is refused by itself from then on, milliseconds since 1970. */
  readonly untilMs: number;
  /** No request was made for it: it must be claimed where every node sees it. */
  readonly unsolicited: boolean;
}

/** What only the edge knows. */
export interface ResponseHost {
  /** Whether a URL, in the form that `URL` gives it, leads to the route that the login is for. */
  leadsHere(url: string): Promise<boolean>;
  readonly claim: ClaimMessage;
}

/** `first` once for each message of the route's provider; `unknown` when that cannot be found out. */
export type ClaimMessage = (claim: MessageClaim) => Promise<"first" | "used" | "unknown">;

/** Who the visitor is, by a signed assertion. */
export interface SamlIdentity extends NameId {
  /** Empty for none. */
  readonly sessionIndex: string;
  /** When the visitor last showed credentials, milliseconds since 1970. */
  readonly authnInstantMs: number;
  /** The session may not last longer, milliseconds since 1970. */
  readonly sessionNotOnOrAfterMs?: number;
  readonly attributes: readonly SamlAttribute[];
  /** Empty for none. */
  readonly email: string;
  readonly name: string;
  readonly groups: readonly string[];
}

export interface SamlAttribute {
  readonly name: string;
  /** Values that are text. */
  readonly values: readonly string[];
}

/** Where the login was begun: here, by a flow, or at the provider, which may name where to go. */
export type LoginOrigin =
  | { readonly by: "request"; readonly flowId: string; readonly host: string; readonly sentMs: number }
  | { readonly by: "provider"; readonly url: string };

/** The response as it is gone through: each check fills in what later ones read. */
export interface Work {
  readonly input: ResponseInput;
  readonly host: ResponseHost;
  /** From check 1 on. */
  xml: string;
  relayState: string | undefined;
  relay: RelayRead | undefined;
  /** From check 2 on; nothing of it is believed. */
  response: XmlElement;
  /** From check 5 on, as it is found: not believed, either. */
  candidate: XmlElement;
  /** From check 6 on: what follows is read from here alone. */
  assertion: XmlElement;
  assertionId: string;
  issuedMs: number;
  nameId: NameId;
  subject: XmlElement;
  /** The confirmation's; undefined when it names no request. */
  inResponseTo: string | undefined;
  confirmedUntilMs: number;
  sessionIndex: string;
  signedInMs: number;
  sessionNotOnOrAfterMs: number | undefined;
  origin: LoginOrigin;
  attributes: readonly SamlAttribute[];
  groups: readonly string[];
}

/** Why a check ends the login: one clause, which stands for `saml_assertion`; or a refusal of its own. */
export type Verdict = string | SamlRefusal | undefined;

/** How far from now a message may have been issued, milliseconds. */
export const issueWindowMs = 5 * 60 * 1000;
