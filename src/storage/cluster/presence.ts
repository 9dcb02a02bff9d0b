/**
 * Location of agents by node: entries with a body, and the public names that they claim. This node sends its entries to
 * the others in batches. It reads their entries by the number of the last change, and passes them to subscribers.
 */

/** A public name that an entry serves. */
export interface ServedName {
  /** A host name (or the key of an internal one), or `:` and a port. */
  readonly name: string;
  readonly accountId: string;
  /** Entries of an account and the same pool may share a name. */
  readonly pool?: string | undefined;
}

/** A claim that an entry makes before an agent gets the name. */
export interface NameClaim extends ServedName {
  /** Entries that serve the name, and that this entry replaces. */
  readonly replaces: readonly string[];
}

/**
 * `granted`: the replaced entries end once this entry is written. `conflict`: other entries serve the name. `pending`:
 * it was granted to other entries, which do not serve it yet. `lost`: this node is cut off from the others.
 */
export type ClaimOutcome = "granted" | "conflict" | "pending" | "lost";

export type PresenceNews =
  /** Another node has the entry, in this state. */
  | { readonly what: "put"; readonly id: string; readonly node: string; readonly body: string }
  /** No other node has the entry any more. */
  | { readonly what: "removed"; readonly id: string }
  /**
   * The database no longer has the entry, but its node has not removed it. The lease of that node is over, or the
   * database has lost its data. The node may still serve the entry.
   */
  | { readonly what: "lapsed"; readonly id: string }
  /** Another node has taken over this node's entry, or its name. This node must end the entry. */
  | { readonly what: "taken"; readonly id: string };

export interface Presence {
  /** Rejects if the database does not respond. */
  claim(id: string, claim: NameClaim): Promise<ClaimOutcome>;
  /** Releases a name that was granted to the entry and is not served. */
  drop(id: string, name: string): void;
  /**
   * Adds an entry of this node with its `body`, which serves `name`. Other nodes get it soon, in order, and again after
   * an outage. An entry that was not removed before is changed. If several nodes report an entry, the node where it was
   * opened last has it.
   */
  put(id: string, body: string, name?: ServedName): void;
  /** Removes an entry of this node. */
  remove(id: string): void;
  /** Resolves with the number of the last change when all entries so far are written. */
  told(): Promise<number>;
  /**
   * Resolves when this node knows all entries that other nodes have written so far. Rejects if the database does not
   * respond.
   */
  refresh(): Promise<void>;
  /** Number of the last known change of other nodes. */
  readonly change: number;
  /** Called once. The follower also gets all earlier changes. */
  follow(follower: PresenceFollower): void;
}

/** Stores the entries of other nodes. */
export interface PresenceFollower {
  /** Called with changes, in order. */
  heard(news: readonly PresenceNews[]): void;
  /** Whether another node has the entry, as far as this node knows. */
  has(id: string): boolean;
  /** Returns all entries of other nodes, as far as this node knows. */
  ids(): Iterable<string>;
}
