/**
 * Sessions and tunnels as rows of bytes. Every node and edge knows all sessions and tunnels, and most are never
 * queried. An object is created from a row only when a caller needs it.
 */
import { formatTimestamp } from "../lib/clock.ts";
import { Digests } from "../lib/collections/digests.ts";
import { FoldedRows } from "./folded-rows.ts";
import { hostOfName } from "../lib/plain-names.ts";

/** Fields of a session that its row stores outside the shared pattern. */
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
  /** The claimed name; "" for a tunnel with labels. */
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

/** Places may have sessions and tunnels with the same id. Each is a separate row. */
export class AgentRows<S extends SessionParts> {
  readonly #sessions = new FoldedRows(5, partOfSession);
  readonly #tunnels = new FoldedRows(8, (at, own, owner) => partOfTunnel(at, own, () => this.session(owner)));
  /** Tunnels by the hosts of their names. */
  readonly #hosts = new Digests();
  /** Number of tunnels of each session. */
  readonly #tunnelCounts: number[] = [];
  /** Sessions that have ended but still have tunnels. */
  readonly #closed = new Set<number>();
  /** Callers often read the same session several times in a row. */
  #last: { readonly number: number; readonly session: S } | undefined;

  get sessionCount(): number {
    return this.#sessions.size - this.#closed.size;
  }

  get tunnelCount(): number {
    return this.#tunnels.size;
  }

  /** @param place number of the edge with the session */
  openSession(session: S, place: number): number {
    const { id, accountId, startedMs, agentId = "", ip } = session;
    const own = [id, packTime(startedMs), agentId, ip];
    const number = this.#sessions.put(own, place, `${accountId}\n${JSON.stringify(session)}`);
    this.#tunnelCounts[number] = 0;
    return number;
  }

  /** Marks the session as ended. Its row remains readable while it has tunnels. */
  closeSession(number: number): void {
    this.#closed.add(number);
    this.#forget(number);
  }

  /** Returns the session with an id at a place, or the latest of all places. */
  sessionNumber(id: string, place?: number): number | undefined {
    const isIt = (one: number): boolean =>
      !this.#closed.has(one) && (place === undefined || this.placeOf(one) === place);
    return this.#sessions.find(id).findLast(isIt);
  }

  /** Creates an object from a row. */
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

  /** Iterates over all sessions that have not ended. */
  *sessionNumbers(): Iterable<number> {
    for (const number of this.#sessions.numbers()) if (!this.#closed.has(number)) yield number;
  }

  /**
   * @param session number of its row
   * @param json all other fields: a text without line breaks
   */
  openTunnel(tunnel: TunnelParts, session: number, json: string): number {
    const { id, name, startedAt } = tunnel;
    const host = hostOfName(name);
    const own = [stripPrefix(id), packTime(startedAt), host.split(".", 1)[0] as string];
    const number = this.#tunnels.put(own, session, textOf(id, name, json));
    if (name !== "") this.#hosts.add(host, number);
    this.#tunnelCounts[session] = (this.#tunnelCounts[session] as number) + 1;
    return number;
  }

  /** Replaces the text of a tunnel. Its parts and its session stay the same. */
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

  /** Returns the tunnel with an id at a place, or the latest of all places. */
  tunnelNumber(id: string, place?: number): number | undefined {
    const isIt = (one: number): boolean =>
      this.tunnelId(one) === id && (place === undefined || this.placeOf(this.sessionOf(one)) === place);
    return this.#tunnels.find(stripPrefix(id)).findLast(isIt);
  }

  /** Returns the tunnel of an object whose id derives from the tunnel's id, such as its endpoint. */
  tunnelOfPart(id: string): number | undefined {
    return this.#tunnels.find(stripPrefix(id)).at(-1);
  }

  /** Returns the tunnels that serve a name, in the order in which they were opened. */
  findNamed(name: string): number[] {
    return this.#hosts.candidates(hostOfName(name)).filter((number) => this.nameOf(number) === name);
  }

  /** Returns the tunnels that serve a name of the host. */
  findAtHost(host: string): number[] {
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

  /** Returns the parts with which the tunnel was opened. */
  tunnel(number: number): TunnelParts {
    const startedAt = readTime(this.#tunnels.own(number)[1] as string);
    return { id: this.tunnelId(number), name: this.nameOf(number), startedAt };
  }

  /** Returns the current text of the tunnel. */
  json(number: number): string {
    return this.#tunnels.line(number, 2);
  }

  /** Returns the number of a tunnel's session. */
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

/** Returns an id without the prefix of its kind. */
function stripPrefix(id: string): string {
  return id.slice(id.lastIndexOf("_") + 1);
}

function packTime(epochMs: number | undefined): string {
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

/** Neighbouring rows usually have the same second. */
let lastSecond = { second: NaN, text: "" };

/** Returns a time in milliseconds (0) or in RFC 3339 (1). */
function timePart(form: number, packed = ""): string {
  if (packed === "") return "";
  const epochMs = readTime(packed);
  if (form === 0) return String(epochMs);
  const second = Math.floor(epochMs / 1000);
  if (lastSecond.second !== second) lastSecond = { second, text: formatTimestamp(epochMs) };
  return lastSecond.text;
}
