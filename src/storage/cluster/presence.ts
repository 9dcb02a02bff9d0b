/**
 * What of agents is at which node: entries with a body, and the public names that they claim. What is here is told to the
 * other nodes in batches; what they have is read by the number of the last change, and told to whoever subscribes.
 */

/** A public name that an entry serves. */
export interface ServedName {
  /** A host name (or the key of an internal one), or `:` and a port. */
  readonly name: string;
  readonly accountId: string;
  /** Entries of an account and the same pool may share a name. */
  readonly pool?: string | undefined;
}

/** What an entry asks for before an agent is told that it has it. */
export interface NameClaim extends ServedName {
  /** Entries that serve the name, and make way for this one. */
  readonly replaces: readonly string[];
}

/**
 * `granted`: those that are replaced make way once the entry is there. `conflict`: others serve the name. `pending`: it was
 * granted to others, which do not serve it yet. `lost`: this node is cut off from the others.
 */
export type ClaimOutcome = "granted" | "conflict" | "pending" | "lost";

export type PresenceNews =
  /** Another node has it, as it is now. */
  | { readonly what: "put"; readonly id: string; readonly node: string; readonly body: string }
  /** No other node has it any more. */
  | { readonly what: "removed"; readonly id: string }
  /** It was this node's, and another one has it, or its name, by now: it is to be ended here. */
  | { readonly what: "taken"; readonly id: string };

export interface Presence {
  /** Rejects when the database does not answer. */
  claim(id: string, claim: NameClaim): Promise<ClaimOutcome>;
  /** What was granted to the entry and is not served is not wanted any more. */
  drop(id: string, name: string): void;
  /**
   * This node has it, as `body` says, and serves `name` with it. Told soon, in order; again after an outage. What was not
   * removed before is changed: of several nodes that tell of an entry the one where it was opened last has it.
   */
  put(id: string, body: string, name?: ServedName): void;
  /** This node has it no more. */
  remove(id: string): void;
  /** Resolves once everything that was put so far is told, with the number of the last change. */
  told(): Promise<number>;
  /** Everything of others that was told so far is known when it resolves. Rejects when the database does not answer. */
  refresh(): Promise<void>;
  /** Up to which change what others have is known. */
  readonly change: number;
  /** Called once: whoever follows is told of all that came before. */
  follow(follower: PresenceFollower): void;
}

/** Keeps what other nodes have. */
export interface PresenceFollower {
  /** What has changed, in order. */
  heard(news: readonly PresenceNews[]): void;
  /** Whether another node has the entry, as far as was told. */
  has(id: string): boolean;
  /** All that other nodes have, as far as was told. */
  ids(): Iterable<string>;
}
