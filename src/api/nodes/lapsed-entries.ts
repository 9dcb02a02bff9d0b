/**
 * Entries of other nodes that the database no longer has, although their nodes have not removed them. A node that is cut
 * off from the database still serves its agents. Its entries stay in use while its edges answer.
 */
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock, Timer } from "../../lib/clock.ts";

export interface LapsedOptions {
  /** Resolves with whether the edge of another node answers. */
  readonly isThere: (edgeId: string) => Promise<boolean>;
  /** Called with entries that are no longer valid, the edge itself last. */
  readonly drop: (ids: readonly string[]) => void;
  readonly clock: Clock;
}

/** Lapsed entries of one edge. */
interface LapsedEdge {
  readonly ids: Set<string>;
  /** Whether the edge itself has lapsed, so that its node is cut off or dead. */
  isAway: boolean;
  /** When the last entry lapsed, or the edge came back. Monotonic. */
  since: number;
  isAsked: boolean;
  /** Consecutive questions without an answer. */
  silent: number;
}

/** Interval between two questions to an edge, milliseconds. */
const askEveryMs = 1_000;
/** Number of questions without an answer after which the edge counts as dead. */
const maxSilent = 2;
/** Time for a node that is back to write its entries again, milliseconds. */
const rewriteMs = 10_000;
/** Longest time for which entries stay in use without the database, milliseconds. */
const longestMs = 15 * 60 * 1000;

export class LapsedEntries {
  readonly #options: LapsedOptions;
  readonly #edges = new Map<string, LapsedEdge>();
  #timer: Timer | undefined;

  constructor(options: LapsedOptions) {
    this.#options = options;
  }

  /** Whether the edge itself has lapsed. */
  isAway(edgeId: string): boolean {
    return this.#edges.get(edgeId)?.isAway ?? false;
  }

  has(id: string, edgeId: string): boolean {
    return this.#edges.get(edgeId)?.ids.has(id) ?? false;
  }

  /** Ids of all lapsed entries. */
  ids(): readonly string[] {
    return Array.from(this.#edges.values(), ({ ids }) => [...ids]).flat();
  }

  /** Adds an entry of the edge, or the edge itself. */
  add(id: string, edgeId: string): void {
    const edge = this.#edges.get(edgeId) ?? { ids: new Set(), isAway: false, since: 0, isAsked: false, silent: 0 };
    this.#edges.set(edgeId, edge);
    // The limit counts from the first loss. A second one does not extend it.
    if (id === edgeId) edge.isAway = true;
    if (!edge.isAway || edge.ids.size === 0) edge.since = this.#options.clock.monotonic();
    edge.ids.add(id);
    this.#timer ??= this.#options.clock.every(askEveryMs, () => this.#look());
  }

  /** The entry is in the database again, or it has ended. */
  delete(id: string, edgeId: string): void {
    const edge = this.#edges.get(edgeId);
    if (!edge?.ids.delete(id)) return;
    if (id === edgeId) {
      edge.isAway = false;
      edge.since = this.#options.clock.monotonic();
    }
    if (edge.ids.size === 0) this.#forget(edgeId);
  }

  /** The edge has left with all its entries. */
  leave(edgeId: string): void {
    if (this.#edges.has(edgeId)) this.#forget(edgeId);
  }

  #forget(edgeId: string): void {
    this.#edges.delete(edgeId);
    if (this.#edges.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #look(): void {
    const now = this.#options.clock.monotonic();
    for (const [edgeId, edge] of this.#edges) {
      if (now - edge.since >= (edge.isAway ? longestMs : rewriteMs)) this.#drop(edgeId, edge);
      else if (edge.isAway && !edge.isAsked) this.#ask(edgeId, edge);
    }
  }

  #ask(edgeId: string, edge: LapsedEdge): void {
    edge.isAsked = true;
    const asked = this.#options.isThere(edgeId).then((isThere) => {
      edge.isAsked = false;
      edge.silent = isThere ? 0 : edge.silent + 1;
      if (edge.silent >= maxSilent && edge.isAway && this.#edges.get(edgeId) === edge) this.#drop(edgeId, edge);
    });
    runUnattended("task", asked);
  }

  #drop(edgeId: string, { ids }: LapsedEdge): void {
    this.#forget(edgeId);
    const entries = [...ids].filter((id) => id !== edgeId);
    this.#options.drop(ids.has(edgeId) ? [...entries, edgeId] : entries);
  }
}
