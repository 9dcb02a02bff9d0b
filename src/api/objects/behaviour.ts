/** What some resources do beyond their declaration; one file each in `behaviour/`. */
import type { Clock } from "../../lib/clock.ts";
import type { SuffixRules } from "../../lib/public-suffix.ts";
import type { Doc } from "../../schema/doc.ts";
import type { Draft, StoredObject } from "../../storage/store.ts";
import type { ApiPrincipal } from "../operation/call.ts";
import type { DomainChecks } from "../domain-proof/checker.ts";
import type { DomainProof } from "../../settings/both-planes.ts";
import type { Events } from "../events/dispatcher.ts";
import type { Provisioning } from "../provisioning/provisioning.ts";
import type { KeyRing } from "../http/authenticate.ts";
import type { LiveObjects } from "../edges/live-objects.ts";
import type { LiveValues } from "./views.ts";

/** What the behaviours may use. */
export interface Surroundings {
  readonly clock: Clock;
  /** Base of generated host names, lower case. */
  readonly domain: string;
  /** The port of HTTPS in public URLs. */
  readonly httpsPort: () => number;
  readonly liveObjects: LiveObjects;
  readonly keys: KeyRing;
  /** What counts as a public suffix. */
  readonly suffixes: SuffixRules;
  /** Backends may name loopback and link-local addresses. */
  readonly allowLocalUpstreams: boolean;
  /** How accounts prove that names which are not of the server are theirs. */
  readonly domainProof: DomainProof;
  readonly domainChecks: Pick<DomainChecks, "status">;
  /** Hostports need a reserved domain first. */
  readonly requireReservation: boolean;
  /** Ports that reserved addresses are given, both ends included. */
  readonly tcpPorts: { readonly first: number; readonly last: number };
  readonly events: Pick<Events, "status" | "unavailability" | "allowPrivate">;
  readonly provisioning: Pick<Provisioning, "status">;
}

export interface Preparation {
  readonly draft: Draft;
  readonly accountId: string;
  readonly principal: Pick<ApiPrincipal, "operator" | "expiresAtMs">;
  /** The caller's address. */
  readonly source: string;
  /** Complete and valid by itself. */
  readonly doc: Doc;
  /** Absent on creation. */
  readonly previous: StoredObject | undefined;
}

export interface Behaviour {
  /**
   * Completes a document in the write that stores it: what follows from other objects or from chance.
   * Throws `Refusal`. `shown`: values that only this one answer has.
   */
  prepare?(input: Preparation): { readonly doc: Doc; readonly shown?: Doc };
  /** What else the write does, once the object has its id. */
  created?(draft: Draft, object: StoredObject): { readonly shown?: Doc };
  /** Throws `Refusal` when something that is not stored keeps the object from being deleted. */
  deleting?(object: StoredObject, draft: Draft): void;
  readonly live?: LiveValues;
  /** `doc` as somebody has configured it, without what the server set by itself; undefined for what it made. */
  configured?(doc: Doc): Doc | undefined;
}
