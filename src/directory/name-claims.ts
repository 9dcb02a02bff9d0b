/**
 * Public names: which tunnel may have a name (`mayHave`), and the register of the names of all edges. Edges ask for a name
 * before they open a tunnel. The register grants names one after another.
 */
import { siblingOf } from "../lib/plain-names.ts";

/** A request for a name. Plain JSON: it crosses the link from the edge. */
export interface NameClaim {
  /** Name of a host (see `nameOf`), with its account if it is internal, or `:` and a port. */
  readonly name: string;
  readonly tunnelId: string;
  readonly accountId: string;
  /** Tunnels of the same account and pool may share the name. */
  readonly pool?: string | undefined;
  /** Tunnels of the account that serve the name and that this tunnel replaces. */
  readonly replaces: readonly string[];
}

/**
 * `granted`: the tunnel has the name until it closes or drops the claim. The tunnels that it replaces close once it is
 * open. `conflict`: another tunnel serves the name, and the edge already knows that tunnel. `unasked`: the other nodes
 * cannot be asked.
 */
export type ClaimAnswer = "granted" | "conflict" | "unasked";

/** A tunnel that holds a name. */
export interface NameHolder {
  readonly tunnelId: string;
  readonly accountId: string;
  readonly pool: string | undefined;
  /** `left`: the tunnel stopped serving the name, which remains reserved for its account for some time. */
  readonly state: "granted" | "serves" | "left";
}

/** `pending`: another tunnel was granted the name and does not serve it yet. */
export type NameDecision = "granted" | "pending" | "conflict";

/** Parts of a claim that the rule needs. An edge that searches for a free name has no tunnel yet. */
export type ClaimTerms = Pick<NameClaim, "accountId" | "pool" | "replaces"> & { readonly tunnelId?: string };

/**
 * Decides on a claim, given the holders of the name and of the host's other name (`siblingOf`).
 *
 * A tunnel may have a name under two conditions. Every holder of the name shares it (same account and pool) or is
 * replaced by the tunnel (same account, listed in `replaces`). Every holder of the sibling belongs to the same account.
 * A claim waits for a tunnel that was granted the name and does not share it. The function `presence_claim` in the
 * database is the same rule.
 */
export function mayHave(
  terms: ClaimTerms,
  holders: readonly NameHolder[],
  ofSibling: readonly NameHolder[] = [],
): NameDecision {
  const { accountId } = terms;
  if (ofSibling.some((one) => one.accountId !== accountId)) return "conflict";
  let decision: NameDecision = "granted";
  for (const holder of holders) {
    const one = decideBeside(terms, holder);
    if (one === "conflict") return one;
    if (one === "pending") decision = one;
  }
  return decision;
}

function decideBeside(terms: ClaimTerms, holder: NameHolder): NameDecision {
  const { tunnelId, accountId, replaces } = terms;
  if (holder.tunnelId === tunnelId) return "granted";
  const isForeign = holder.accountId !== accountId;
  if (holder.state === "left") return isForeign ? "conflict" : "granted";
  if (sharesName(holder, terms)) return "granted";
  if (holder.state === "granted") return "pending";
  return !isForeign && replaces.includes(holder.tunnelId) ? "granted" : "conflict";
}

/** Whether two tunnels may serve one name together. */
export function sharesName(
  one: Pick<NameHolder, "accountId" | "pool">,
  other: Pick<ClaimTerms, "accountId" | "pool">,
): boolean {
  return one.accountId === other.accountId && other.pool !== undefined && one.pool === other.pool;
}

/** A tunnel that serves a name, and its line or node. */
export interface ServingTunnel<Place> extends Omit<NameHolder, "state"> {
  readonly place: Place;
}

/** Register of names. `Place` identifies the receiver of an answer, such as the line to an edge. */
export interface NameClaims<Place> {
  /** Answers immediately, or after the tunnel with the grant has served or given up the name. */
  claim(claim: NameClaim, place: Place, answer: (answer: ClaimAnswer) => void): void;
  /** Records that the tunnel serves the name. Returns the tunnels of other places that it replaces. */
  open(name: string, tunnel: ServingTunnel<Place>): readonly ServingTunnel<Place>[];
  /** Decides on the claims that wait for the name. */
  settle(name: string | undefined): void;
  /** Records that the tunnel stopped serving the name. Has no effect if the tunnel serves it at another place. */
  release(name: string, tunnelId: string, place: Place): void;
  /** Drops the tunnel's grants and its waiting claims. */
  drop(tunnelId: string, place: Place): void;
  /** Removes the edge with its grants and claims. */
  leave(place: Place): void;
}

interface PendingClaim<Place> {
  readonly claim: NameClaim;
  readonly place: Place;
  readonly answer: (answer: ClaimAnswer) => void;
}

type Held<Place> = NameHolder & ServingTunnel<Place>;

export function makeNameClaims<Place>(): NameClaims<Place> {
  const holders = new Map<string, readonly Held<Place>[]>();
  const waiting = new Map<string, readonly PendingClaim<Place>[]>();
  /** By tunnel: granted names that it does not serve yet, and names that it waits for. */
  const asked = new Map<string, Set<string>>();

  const holdersOf = (name: string): readonly Held<Place>[] => holders.get(name) ?? [];
  const waitingFor = (name: string): readonly PendingClaim<Place>[] => waiting.get(name) ?? [];
  const noteAsked = (tunnelId: string, name: string): void => {
    const names = asked.get(tunnelId);
    if (names) names.add(name);
    else asked.set(tunnelId, new Set([name]));
  };
  const forgetAsked = (tunnelId: string, name: string): void => {
    const hasGrant = holdersOf(name).some((one) => one.tunnelId === tunnelId && one.state === "granted");
    if (hasGrant || waitingFor(name).some(({ claim }) => claim.tunnelId === tunnelId)) return;
    const names = asked.get(tunnelId);
    names?.delete(name);
    if (names?.size === 0) asked.delete(tunnelId);
  };
  const decide = (one: PendingClaim<Place>): void => {
    const { claim, place, answer } = one;
    const { name, tunnelId, accountId, pool } = claim;
    const decision = mayHave(claim, holdersOf(name), holdersOf(siblingOf(name)));
    if (decision === "conflict") {
      forgetAsked(tunnelId, name);
      answer("conflict");
      return;
    }
    noteAsked(tunnelId, name);
    if (decision === "pending") {
      waiting.set(name, [...waitingFor(name), one]);
      return;
    }
    const otherHolders = holdersOf(name).filter((held) => held.tunnelId !== tunnelId || held.state !== "granted");
    holders.set(name, [...otherHolders, { tunnelId, accountId, pool, place, state: "granted" }]);
    answer("granted");
  };
  const settle = (name: string): void => {
    const claims = waitingFor(name);
    waiting.delete(name);
    for (const one of claims) decide(one);
  };
  const removeHolders = (name: string, isGone: (held: Held<Place>) => boolean): void => {
    const before = holdersOf(name);
    putIn(
      holders,
      name,
      before.filter((one) => !isGone(one)),
    );
  };
  const stopWaiting = (tunnelId: string, place: Place): void => {
    for (const name of Array.from(asked.get(tunnelId) ?? [])) {
      const otherClaims = waitingFor(name).filter((one) => one.claim.tunnelId !== tunnelId || one.place !== place);
      putIn(waiting, name, otherClaims);
      forgetAsked(tunnelId, name);
    }
  };
  const dropGrants = (tunnelId: string, place: Place): void => {
    for (const name of Array.from(asked.get(tunnelId) ?? [])) {
      removeHolders(name, (one) => one.tunnelId === tunnelId && one.place === place && one.state === "granted");
      forgetAsked(tunnelId, name);
      settle(name);
    }
  };
  return {
    claim: (claim, place, answer) => decide({ claim, place, answer }),
    open(name, tunnel) {
      const otherHolders = holdersOf(name).filter(({ tunnelId }) => tunnelId !== tunnel.tunnelId);
      const beside = otherHolders.filter((one) => one.state === "granted" || sharesName(one, tunnel));
      holders.set(name, [...beside, { ...tunnel, state: "serves" }]);
      forgetAsked(tunnel.tunnelId, name);
      return otherHolders.filter((one) => !beside.includes(one) && one.place !== tunnel.place);
    },
    settle(name) {
      if (name !== undefined) settle(name);
    },
    release(name, tunnelId, place) {
      removeHolders(name, (one) => one.tunnelId === tunnelId && one.place === place && one.state === "serves");
    },
    drop(tunnelId, place) {
      stopWaiting(tunnelId, place);
      dropGrants(tunnelId, place);
    },
    leave(place) {
      const tunnels = [...asked.keys()];
      for (const tunnelId of tunnels) stopWaiting(tunnelId, place);
      for (const tunnelId of tunnels) dropGrants(tunnelId, place);
    },
  };
}

function putIn<One>(map: Map<string, readonly One[]>, name: string, list: readonly One[]): void {
  if (list.length > 0) map.set(name, list);
  else map.delete(name);
}
