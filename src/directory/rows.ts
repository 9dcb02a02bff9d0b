/**
 * Sessions and tunnels of agents that are connected elsewhere. Every node and edge knows all of them, and nobody comes for
 * most: they are rows, of which whoever comes for one makes an object.
 */
import { timestamp } from "../lib/clock.ts";
import { Digests } from "../lib/collections/digests.ts";
import { FoldedRows } from "./folded-rows.ts";
import { hostOfName } from "../lib/plain-names.ts";

/** What a session is known by; the rest of it is kept as JSON. */
export interface SessionParts {
  readonly id: string;
  readonly accountId: string;
  readonly credentialId: string;
  readonly agentId?: string;
  readonly ip: string;
  /** Milliseconds since 1970. */
  readonly startedMs?: number;
}

export interface TunnelParts {
  readonly id: string;
  /** That it serves, as it was claimed; "" for none. */
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

/** Places may have sessions and tunnels of the same id: each is a row. */
export class AgentRows<S extends SessionParts> {
  readonly #sessions = new FoldedRows(5, partOfSession);
  readonly #tunnels = new FoldedRows(8, (at, own, owner) => partOfTunnel(at, own, () => this.session(owner)));
  /** Tunnels by the hosts of their names. */
  readonly #hosts = new Digests();
  /** How many tunnels a session has. */
  readonly #tunnelCounts: number[] = [];
  /** Sessions that are over, and still have tunnels. */
  readonly #closed = new Set<number>();
  /** Who asks for one asks for it again. */
  #last: { readonly number: number; readonly session: S } | undefined;

  get sessionCount(): number {
    return this.#sessions.size - this.#closed.size;
  }

  get tunnelCount(): number {
    return this.#tunnels.size;
  }

  /** @param place a number of where it is */
  openSession(session: S, place: number): number {
    const { id, accountId, startedMs, agentId = "", ip } = session;
    const own = [id, packedTime(startedMs), agentId, ip];
    const number = this.#sessions.put(own, place, `${accountId}\n${JSON.stringify(session)}`);
    this.#tunnelCounts[number] = 0;
    return number;
  }

  /** It is over; what there is of it can be read as long as it has tunnels. */
  closeSession(number: number): void {
    this.#closed.add(number);
    this.#forget(number);
  }

  /** The session of an id, the latest of all places unless one is given. */
  sessionNumber(id: string, place?: number): number | undefined {
    const isIt = (one: number): boolean =>
      !this.#closed.has(one) && (place === undefined || this.placeOf(one) === place);
    return this.#sessions.find(id).findLast(isIt);
  }

  /** An object that is made of it. */
  session(number: number): S {
    if (this.#last?.number !== number) {
      this.#last = { number, session: JSON.parse(this.#sessions.line(number, 1)) as S };
    }
    return this.#last.session;
  }

  sessionId(number: number): string {
    return this.#sessions.own(number)[0] as string;
  }

  accountOf(session: number): string {
    return this.#sessions.line(session, 0);
  }

  placeOf(session: number): number {
    return this.#sessions.owner(session);
  }

  /** All that are not over. */
  *sessionNumbers(): Iterable<number> {
    for (const number of this.#sessions.numbers()) if (!this.#closed.has(number)) yield number;
  }

  /** @param session its number; @param json what else there is of it: a text without line breaks */
  openTunnel(tunnel: TunnelParts, session: number, json: string): number {
    const { id, name, startedAt } = tunnel;
    const host = hostOfName(name);
    const own = [ownOf(id), packedTime(startedAt), host.split(".", 1)[0] as string];
    const number = this.#tunnels.put(own, session, textOf(id, name, json));
    if (name !== "") this.#hosts.add(host, number);
    this.#tunnelCounts[session] = (this.#tunnelCounts[session] as number) + 1;
    return number;
  }

  /** Another text of the same tunnel, with the same parts, in the same session. */
  changeTunnel(number: number, json: string): void {
    this.#tunnels.change(number, textOf(this.tunnelId(number), this.nameOf(number), json));
  }

  closeTunnel(number: number): void {
    const name = this.nameOf(number);
    const session = this.sessionOf(number);
    if (name !== "") this.#hosts.remove(hostOfName(name), number);
    this.#tunnels.drop(number);
    this.#tunnelCounts[session] = (this.#tunnelCounts[session] as number) - 1;
    this.#forget(session);
  }

  /** The tunnel of an id, the latest of all places unless one is given. */
  tunnelNumber(id: string, place?: number): number | undefined {
    const isIt = (one: number): boolean =>
      this.tunnelId(one) === id && (place === undefined || this.placeOf(this.sessionOf(one)) === place);
    return this.#tunnels.find(ownOf(id)).findLast(isIt);
  }

  /** That of an object whose id was made of the tunnel's, such as its endpoint's. */
  tunnelOfPart(id: string): number | undefined {
    return this.#tunnels.find(ownOf(id)).at(-1);
  }

  /** Those that serve a name, in the order in which they were opened. */
  named(name: string): number[] {
    return this.#hosts.candidates(hostOfName(name)).filter((number) => this.nameOf(number) === name);
  }

  /** Those that serve a name of the host. */
  atHost(host: string): number[] {
    return this.#hosts.candidates(host).filter((number) => hostOfName(this.nameOf(number)) === host);
  }

  tunnelNumbers(): Iterable<number> {
    return this.#tunnels.numbers();
  }

  tunnelId(number: number): string {
    return this.#tunnels.line(number, 0);
  }

  nameOf(number: number): string {
    return this.#tunnels.line(number, 1);
  }

  /** As it was opened. */
  tunnel(number: number): TunnelParts {
    const startedAt = readTime(this.#tunnels.own(number)[1] as string);
    return { id: this.tunnelId(number), name: this.nameOf(number), startedAt };
  }

  /** What was kept of it. */
  json(number: number): string {
    return this.#tunnels.line(number, 2);
  }

  /** The number of a tunnel's session. */
  sessionOf(number: number): number {
    return this.#tunnels.owner(number);
  }

  #forget(session: number): void {
    if (!this.#closed.has(session) || this.#tunnelCounts[session] !== 0) return;
    this.#closed.delete(session);
    if (this.#last?.number === session) this.#last = undefined;
    this.#sessions.drop(session);
  }
}

function textOf(id: string, name: string, json: string): string {
  return `${id}\n${name}\n${json}`;
}

/** An id without what says of which kind it is. */
function ownOf(id: string): string {
  return id.slice(id.lastIndexOf("_") + 1);
}

function packedTime(epochMs: number | undefined): string {
  return epochMs === undefined ? "" : epochMs.toString(36);
}

function readTime(packed: string): number {
  return Number.parseInt(packed, 36);
}

function partOfSession(at: number, [id, started, agentId, ip]: readonly string[]): string {
  return [id, timePart(0, started), timePart(1, started), agentId, ip][at] ?? "";
}

function partOfTunnel(
  at: number,
  [own = "", started, label = ""]: readonly string[],
  session: () => SessionParts,
): string {
  switch (at) {
    case 0:
      return own;
    case 1:
    case 2:
      return timePart(at - 1, started);
    case 3:
      return session().id;
    case 4:
      return session().accountId;
    case 5:
      return session().credentialId;
    case 6:
      return session().agentId ?? "";
    default:
      return label;
  }
}

/** Those of neighbours are of one second, mostly. */
let lastSecond = { second: NaN, text: "" };

/** A time as milliseconds (0), and as it is shown (1). */
function timePart(form: number, packed = ""): string {
  if (packed === "") return "";
  const epochMs = readTime(packed);
  if (form === 0) return String(epochMs);
  const second = Math.floor(epochMs / 1000);
  if (lastSecond.second !== second) lastSecond = { second, text: timestamp(epochMs) };
  return lastSecond.text;
}
