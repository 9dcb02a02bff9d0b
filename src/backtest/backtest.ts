/** Decides recorded requests with two configurations, and compares the decisions. */
import type { CapturedRequest } from "../capture/captured-request.ts";
import { isEndpointId } from "../lib/ids.ts";
import { unknownAddresses } from "../geo/address-book.ts";
import type { AddressFacts } from "../geo/address-book.ts";
import { ClientConnection } from "../edge/http/visitor-connection.ts";
import type { BacktestExample, BacktestReport } from "../routing/planes/backtests.ts";
import type { CaptureGap } from "../routing/planes/captured-blocks.ts";
import type { RoutingChange } from "../routing/planes/messages.ts";
import type { ConnectionFacts } from "../traffic/connection-facts.ts";
import { causeOf } from "./causes.ts";
import { ReplayClock } from "./replay-clock.ts";
import { decisionOf, differenceOf, outcomeFrom } from "./decided.ts";
import { handshakeWith } from "./replayed-handshake.ts";
import { CandidateParts, PresentParts } from "./parts.ts";
import { headOf, receiveRecorded } from "./received.ts";
import { ReplayedExchange } from "./replayed-exchange.ts";
import type { Replaying } from "./replayed-exchange.ts";
import { Settling } from "./settling.ts";
import { DecisionTally } from "./decision-tally.ts";
import { Unaffected } from "./unaffected.ts";
import { openWorld } from "./world.ts";
import type { BacktestConfigurations, World } from "./world.ts";

/** The two configurations at one edge of one node. Each edge has separate rate limits and circuit breakers. */
interface EdgeWorlds {
  readonly present: World;
  readonly candidate: World;
  readonly unaffected: Unaffected;
}

/** Further edges share the state of the last one. */
const maxPlaces = 64;

export class Backtest {
  readonly #configurations: BacktestConfigurations;
  readonly #clock = new ReplayClock();
  readonly #settling = new Settling(this.#clock);
  readonly #places = new Map<string, EdgeWorlds>();
  readonly #facts = new WeakMap<CapturedRequest["connection"], ConnectionFacts>();
  readonly #changes: ReadonlyMap<string, RoutingChange>;
  readonly #tally = new DecisionTally();
  readonly #addresses: AddressFacts;

  constructor(configurations: BacktestConfigurations, addresses: AddressFacts = unknownAddresses) {
    this.#configurations = configurations;
    this.#addresses = addresses;
    this.#changes = new Map(configurations.changes.map((change) => [change.id, change]));
  }

  get report(): BacktestReport {
    return this.#tally.report;
  }

  /** Some records are missing. */
  gap({ reason, nodeId, records = 0 }: CaptureGap): void {
    const { lostNodes } = this.#tally;
    if (reason === "unreached" && nodeId !== undefined) lostNodes.set(nodeId, (lostNodes.get(nodeId) ?? 0) + records);
    else this.#tally.gaps += 1;
  }

  /** Tries one record. Records come in the order in which their requests arrived. */
  try(record: CapturedRequest): Promise<void> | undefined {
    const place = this.#placeOf(record);
    const { present } = place;
    const host = hostOf(record);
    const before = present.siteAt(host, record.siteId);
    const isServed = before?.id === record.siteId || (before !== undefined && present.isOfAgent(before));
    if (!isServed && !isEndpointId(record.siteId)) {
      this.#tally.skipped += 1;
      return undefined;
    }
    const atMs = record.receivedAt / 1000;
    this.#settling.until(atMs);
    this.#clock.reach(atMs);
    this.#tally.reached(atMs);
    if (!isServed) {
      this.#tally.cannotTell("no agent or cloud endpoint publishes its host at the moment");
      return undefined;
    }
    const head = headOf(record);
    const parts = new PresentParts();
    const one = this.#open(present, head, { record, isPresent: true, before: undefined, parts });
    if (one === undefined) {
      this.#tally.cannotTell("the record of the request cannot be read");
      return undefined;
    }
    present.current = one;
    const running = one.run();
    if (running !== undefined) return running.then(() => this.#tryCandidate(place, head, record, one, parts));
    return this.#tryCandidate(place, head, record, one, parts);
  }

  #tryCandidate(
    { candidate: world, unaffected }: EdgeWorlds,
    head: Buffer,
    record: CapturedRequest,
    before: ReplayedExchange,
    parts: PresentParts,
  ): Promise<void> | undefined {
    if (unaffected.covers(before)) {
      this.#unchanged(record, before);
      return undefined;
    }
    const given = { record, isPresent: false, before, parts: new CandidateParts(parts) };
    const after = this.#open(world, head, given) as ReplayedExchange;
    world.current = after;
    const running = after.run();
    if (running !== undefined) return running.then(() => this.#compare(record, before, after, world));
    this.#compare(record, before, after, world);
    return undefined;
  }

  #unchanged(record: CapturedRequest, before: ReplayedExchange): void {
    this.#settling.add(record, before);
    if (isOtherwise(record, before)) this.#tally.differentlyRecorded += 1;
    if (before.unknown === undefined) this.#tally.same += 1;
    else this.#tally.cannotTell(before.unknown);
  }

  #compare(record: CapturedRequest, before: ReplayedExchange, after: ReplayedExchange, candidate: World): void {
    this.#settling.add(record, before);
    this.#settling.add(record, after);
    const tally = this.#tally;
    if (isOtherwise(record, before)) tally.differentlyRecorded += 1;
    const shaken =
      before.site === undefined
        ? "same"
        : handshakeWith(
            before.site.handshake,
            candidate.siteAt(hostOf(record), record.siteId)?.handshake ?? {},
            record.connection.tls,
          );
    if (shaken === "refused") after.refuseHandshake();
    const unknown = before.unknown ?? after.unknown ?? (typeof shaken === "object" ? shaken.unknown : undefined);
    if (unknown !== undefined) {
      tally.cannotTell(unknown);
      return;
    }
    const difference = differenceOf(before, after);
    if (difference === undefined) {
      tally.same += 1;
      return;
    }
    const example = (): BacktestExample => exampleOf(record, difference, before, after);
    tally.differs(difference, causeOf(before, after, this.#changes), record, example);
  }

  #open(world: World, head: Buffer, given: Omit<Replaying, "configurationOf">): ReplayedExchange | undefined {
    const { record } = given;
    const request = receiveRecorded(head, record, world.context.limits);
    if (request === undefined) return undefined;
    const client = new ClientConnection(
      this.#factsOf(record),
      (host) => world.siteAt(host, record.siteId),
      world.context,
      record.request.scheme,
    );
    return new ReplayedExchange(client, request, { ...given, configurationOf: world.configurationOf });
  }

  /** The same object for the records of one connection, for which modules remember what they have parsed. */
  #factsOf(record: CapturedRequest): ConnectionFacts {
    const { connection } = record;
    let facts = this.#facts.get(connection);
    if (facts === undefined) this.#facts.set(connection, (facts = factsOf(record, this.#addresses)));
    return facts;
  }

  #placeOf({ nodeId, edge }: CapturedRequest): EdgeWorlds {
    const key = `${nodeId}/${edge}`;
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    const last = [...this.#places.values()].at(-1);
    if (last !== undefined && this.#places.size >= maxPlaces) return last;
    const { revision, objects, changes } = this.#configurations;
    const worlds = {
      present: openWorld(this.#configurations, this.#clock),
      candidate: openWorld(this.#configurations, this.#clock),
    };
    worlds.present.table.load(revision, objects);
    worlds.candidate.table.load(revision, objects);
    const place = { ...worlds, unaffected: new Unaffected(worlds.candidate, revision, objects, changes) };
    this.#places.set(key, place);
    return place;
  }
}

function hostOf({ request }: CapturedRequest): string {
  const { authority } = request;
  return authority.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
}

/** @param addresses the present ones, because records have no locations */
function factsOf({ connection }: CapturedRequest, addresses: AddressFacts): ConnectionFacts {
  const { source, sourcePort, localAddress, localPort, startedAt, tls } = connection;
  return {
    source,
    sourcePort,
    local: { localAddress },
    localPort,
    startedAt,
    addresses,
    tls: tls && {
      serverName: tls.serverName,
      version: tls.version,
      cipher: tls.cipher,
      alpn: tls.alpn,
      clientCertificate: tls.clientCertificate,
    },
    ...(tls && { hello: { serverName: tls.serverName, alpn: tls.offeredAlpn, ja4: tls.ja4 } }),
  };
}

/** Whether the present configuration decides the request in another way than it was recorded. */
function isOtherwise({ decision, cutShort, routeId }: CapturedRequest, before: ReplayedExchange): boolean {
  if (before.unknown !== undefined || cutShort) return false;
  // An agent that was restarted publishes its endpoint with another id.
  if (before.routeId !== routeId && !(before.site?.kind === "endpoint" && isEndpointId(routeId ?? ""))) return true;
  return decision.outcome !== outcomeFrom(before) || (decision.status !== 0 && decision.status !== before.status);
}

function exampleOf(
  record: CapturedRequest,
  difference: BacktestExample["difference"],
  before: ReplayedExchange,
  after: ReplayedExchange,
): BacktestExample {
  const { request, connection, visitor } = record;
  return {
    requestId: record.id,
    receivedAt: record.receivedAt / 1000,
    method: request.method,
    host: hostOf(record),
    path: request.path,
    source: connection.source,
    user: visitor?.email ?? "",
    difference,
    before: decisionOf(before),
    after: decisionOf(after),
  };
}
