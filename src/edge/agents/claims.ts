/** Names that agents publish at, host names or ports: who serves one, who may have one, and who just had one. */
import { Refusal } from "../../lib/errors.ts";
import { timestamp } from "../../lib/clock.ts";
import type { AgentSession } from "../../tunnel/server-hooks.ts";
import type { Tunnel } from "./tunnel.ts";

/** A name stays with its account for this long after its tunnel has gone, so that a restart finds it free. */
const reservedMs = 600_000;
const maxFormer = 100_000;

/** Who asks for a name. */
export interface Claimant {
  readonly accountId: string;
  readonly credentialId: string;
}

export interface Claims<Name> {
  tunnel(name: Name): Tunnel | undefined;
  /**
   * Throws `agent_name_taken` unless `claimant` may have the name. Returns the tunnel of the same credential that serves
   * it now, and must make way where its agent is not there any more.
   */
  claim(name: Name, claimant: Claimant): Tunnel | undefined;
  /** Whether `claim` would succeed. */
  isFree(name: Name, claimant: Claimant): boolean;
  put(name: Name, tunnel: Tunnel): void;
  release(name: Name, tunnel: Tunnel): void;
  /**
   * Tunnels whose very name has meanwhile been given to an edge or reserved by another account. A wildcard takes
   * nothing from those that are there (R5).
   */
  dispossessed(): Tunnel[];
}

export interface ClaimsOptions<Name> {
  /** Why configuration keeps the account from the name, or undefined. `exactOnly`: a wildcard does not. */
  readonly reservation: (name: Name, accountId: string, exactOnly: boolean) => string | undefined;
  /** The name as messages show it. */
  readonly shown: (name: Name) => string;
  /** Milliseconds, see `Clock`. */
  readonly monotonic: () => number;
}

/** A session, for others of its account: enough to find the agent. */
export function describeHolder({ id, ip, os, startedAt }: AgentSession): string {
  return `the tunnel session "${id}" (${os === "" ? "" : `${os}, `}${ip}, since ${timestamp(startedAt)})`;
}

export function makeClaims<Name>({ reservation, shown, monotonic }: ClaimsOptions<Name>): Claims<Name> {
  const serving = new Map<Name, Tunnel>();
  const former = new Map<Name, { readonly accountId: string; readonly until: number }>();

  /** Why `claimant` cannot have the name, or undefined. Says nothing of other accounts. */
  const obstacle = (name: Name, { accountId, credentialId }: Claimant): string | undefined => {
    const reserved = reservation(name, accountId, false);
    if (reserved !== undefined) return reserved;
    const holder = serving.get(name)?.session;
    if (holder?.credentialId === credentialId) return undefined;
    if (holder?.accountId === accountId) return `${describeHolder(holder)} serves it`;
    const before = former.get(name);
    const isReserved = before !== undefined && before.accountId !== accountId && before.until > monotonic();
    return holder || isReserved ? "it is not available" : undefined;
  };
  return {
    tunnel: (name) => serving.get(name),
    claim(name, claimant) {
      const why = obstacle(name, claimant);
      if (why !== undefined) throw new Refusal("agent_name_taken", `publish "${shown(name)}": ${why}`);
      return serving.get(name);
    },
    isFree: (name, claimant) => obstacle(name, claimant) === undefined,
    put(name, tunnel) {
      former.delete(name);
      serving.set(name, tunnel);
    },
    release(name, tunnel) {
      if (serving.get(name) !== tunnel) return;
      serving.delete(name);
      former.set(name, { accountId: tunnel.session.accountId, until: monotonic() + reservedMs });
      // Insertion order is expiry order.
      for (const [one, { until }] of former) {
        if (former.size <= maxFormer && until > monotonic()) break;
        former.delete(one);
      }
    },
    dispossessed: () =>
      [...serving].flatMap(([name, tunnel]) =>
        reservation(name, tunnel.session.accountId, true) === undefined ? [] : [tunnel],
      ),
  };
}
