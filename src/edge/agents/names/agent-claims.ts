/**
 * The names at this edge, host names or ports: the tunnels that serve each name, and the account that had it last. The
 * rule is `mayHave` with two additions. Configuration reserves names, and a restarted agent replaces its earlier
 * tunnels.
 */
import { Refusal } from "../../../lib/errors.ts";
import { formatTimestamp } from "../../../lib/clock.ts";
import type { AgentSession } from "../../../tunnel/server-hooks.ts";
import { mayHave, sharesName } from "../../../directory/name-claims.ts";
import type { NameHolder } from "../../../directory/name-claims.ts";
import { sharingKey } from "../tunnels/tunnel.ts";
import type { Company, Tunnel } from "../tunnels/tunnel.ts";

/** A name stays with its account for this long after its tunnel has closed, so that a restarted agent gets it back. */
const reservedMs = 600_000;
const maxFormer = 100_000;

/** The agent that requests a name. */
export interface Claimant {
  readonly accountId: string;
  readonly credentialId: string;
}

export interface Claims<Name> {
  /** Returns the first tunnel that serves the name. */
  tunnel(name: Name): Tunnel | undefined;
  /** Whether a tunnel serves the name that is already an object. */
  isAwake(name: Name): boolean;
  /** Returns all tunnels that serve the name. A change creates a new list. */
  tunnels(name: Name): readonly Tunnel[];
  /**
   * Throws `agent_name_taken` unless `claimant` may have the name. Returns the tunnels that must close. They belong to
   * one agent with the same credential, and the claimant may have the name only if that agent has disconnected.
   */
  claim(name: Name, claimant: Claimant, company: Company | undefined): readonly Tunnel[];
  /** Whether `claim` would succeed. */
  isFree(name: Name, claimant: Claimant, company: Company | undefined): boolean;
  /** Whether the credential has the name at this edge, or had it here last. */
  isLastHere(name: Name, claimant: Claimant): boolean;
  put(name: Name, tunnel: Tunnel): void;
  release(name: Name, tunnel: Tunnel): void;
  /** Calls `listener` with each name that no tunnel serves any more. */
  onReleased(listener: (name: Name) => void): void;
  /** Forgets a closed tunnel that had the name and was never an object, see `ClaimsOptions.wake`. */
  forget(name: Name, holder: Claimant): void;
  /**
   * Returns tunnels of this edge whose exact name has meanwhile been configured for an edge or reserved by another
   * account. A wildcard reservation takes no name from a tunnel (R5).
   */
  dispossessed(): Tunnel[];
}

export interface ClaimsOptions<Name> {
  /**
   * Returns why the configuration refuses the name to the account, or undefined.
   * @param exactOnly whether wildcard reservations do not count
   * @param pool protocol of an endpoint that requests pooling
   */
  readonly reservation: (
    name: Name,
    accountId: string,
    exactOnly: boolean,
    pool: string | undefined,
  ) => string | undefined;
  /** Returns another name that only the account of this name may have. */
  readonly sibling?: (name: Name) => Name;
  /** Opens the tunnels of other edges that serve the name and are not objects yet. */
  readonly wake?: ((name: Name) => void) | undefined;
  /** Returns the name as shown in messages. */
  readonly shown: (name: Name) => string;
  /** Milliseconds, see `Clock`. */
  readonly monotonic: () => number;
}

/** Describes a session to its own account: enough to find the agent. */
export function describeHolder({ id, ip, os, startedAt }: AgentSession): string {
  return `the tunnel session "${id}" (${os === "" ? "" : `${os}, `}${ip}, since ${formatTimestamp(startedAt)})`;
}

interface Former extends Claimant {
  readonly isElsewhere: boolean;
  readonly until: number;
}

export function makeClaims<Name>({ reservation, shown, sibling, wake, monotonic }: ClaimsOptions<Name>): Claims<Name> {
  const serving = new Map<Name, readonly Tunnel[]>();
  const former = new Map<Name, Former>();
  const listeners: ((name: Name) => void)[] = [];

  const at = (name: Name): readonly Tunnel[] => {
    const tunnels = serving.get(name);
    if (tunnels || !wake) return tunnels ?? none;
    wake(name);
    return serving.get(name) ?? none;
  };
  const remember = (name: Name, { accountId, credentialId }: Claimant, isElsewhere: boolean): void => {
    former.set(name, { accountId, credentialId, isElsewhere, until: monotonic() + reservedMs });
    // Insertion order is expiry order.
    for (const [one, { until }] of former) {
      if (former.size <= maxFormer && until > monotonic()) break;
      former.delete(one);
    }
    for (const listener of listeners) listener(name);
  };

  const holdersOf = (name: Name): readonly NameHolder[] => {
    const tunnels = at(name);
    if (tunnels.length > 0) return tunnels.map((tunnel) => new TunnelHolder(tunnel));
    const before = former.get(name);
    if (before === undefined || before.until <= monotonic()) return [];
    return [{ tunnelId: "", accountId: before.accountId, pool: undefined, state: "left" }];
  };
  /** Returns why `claimant` cannot have the name, or undefined. The text does not describe other accounts. */
  const obstacle = (name: Name, claimant: Claimant, company: Company | undefined): string | undefined => {
    const { accountId } = claimant;
    const reserved = reservation(name, accountId, false, poolOf(company));
    if (reserved !== undefined) return reserved;
    const tunnels = at(name);
    const claim = { accountId, pool: sharingKey(company), replaces: findReplaceable(tunnels, claimant) };
    // An account that serves one name of a host keeps the other accounts from both.
    const ofSibling = tunnels.length === 0 && sibling ? holdersOf(sibling(name)) : [];
    if (mayHave(claim, holdersOf(name), ofSibling) === "granted") return undefined;
    const holder = tunnels[0]?.session;
    if (holder?.accountId !== accountId) return "it is not available";
    const pooled = [...tunnels.map((one) => one.company), company].some((one) => poolOf(one) !== undefined);
    const hint = pooled ? "; several endpoints can serve one URL if each requests pooling" : "";
    return `${describeHolder(holder)} serves it${hint}`;
  };
  return {
    tunnel: (name) => at(name)[0],
    isAwake: (name) => serving.has(name),
    tunnels: at,
    claim(name, claimant, company) {
      const why = obstacle(name, claimant, company);
      if (why !== undefined) throw new Refusal("agent_name_taken", `publish "${shown(name)}": ${why}`);
      const { accountId } = claimant;
      const claim = { accountId, pool: sharingKey(company) };
      return at(name).filter((tunnel) => !sharesName(new TunnelHolder(tunnel), claim));
    },
    isFree: (name, claimant, company) => obstacle(name, claimant, company) === undefined,
    isLastHere(name, { credentialId }) {
      const tunnels = at(name);
      if (tunnels.length > 0) {
        return tunnels.some(({ session, isElsewhere }) => !isElsewhere && session.credentialId === credentialId);
      }
      const last = former.get(name);
      return last?.isElsewhere === false && last.credentialId === credentialId && last.until > monotonic();
    },
    put(name, tunnel) {
      former.delete(name);
      // Read the company only if needed, because most tunnels have their name alone.
      const before = at(name);
      const beside = before.length > 0 && tunnel.company !== undefined ? before : none;
      serving.set(name, [...beside.filter((one) => one !== tunnel), tunnel]);
    },
    release(name, tunnel) {
      const tunnels = serving.get(name) ?? none;
      if (!tunnels.includes(tunnel)) return;
      if (tunnels.length > 1) {
        const rest = tunnels.filter((one) => one !== tunnel);
        serving.set(name, rest);
        return;
      }
      serving.delete(name);
      remember(name, tunnel.session, tunnel.isElsewhere);
    },
    onReleased: (listener) => void listeners.push(listener),
    forget: (name, holder) => remember(name, holder, true),
    dispossessed: () =>
      [...serving].flatMap(([name, tunnels]) =>
        tunnels.filter(
          (one) =>
            !one.isElsewhere && reservation(name, one.session.accountId, true, poolOf(one.company)) !== undefined,
        ),
      ),
  };
}

const none: readonly Tunnel[] = Object.freeze([]);

/** A tunnel as the rule sees it. The pool of another edge's tunnel is read from its row only when the rule needs it. */
class TunnelHolder implements NameHolder {
  readonly state = "serves";
  readonly #tunnel: Tunnel;

  constructor(tunnel: Tunnel) {
    this.#tunnel = tunnel;
  }

  get tunnelId(): string {
    return this.#tunnel.id;
  }

  get accountId(): string {
    return this.#tunnel.session.accountId;
  }

  get pool(): string | undefined {
    return sharingKey(this.#tunnel.company);
  }
}

/** Returns the ids of the tunnels that an agent of the same credential may replace. All belong to one agent. */
function findReplaceable(tunnels: readonly Tunnel[], { credentialId }: Claimant): readonly string[] {
  const isReplaceable = isOneAgents(tunnels) && tunnels[0]?.session.credentialId === credentialId;
  return isReplaceable ? tunnels.map(({ id }) => id) : [];
}

/** Whether all tunnels belong to one agent. */
function isOneAgents(tunnels: readonly Tunnel[]): boolean {
  const [first] = tunnels;
  if (!first || tunnels.length === 1) return first !== undefined;
  const { company } = first;
  return company?.isPool === false && tunnels.every((one) => one.company?.key === company.key);
}

/** Returns the protocol of a pooled endpoint. */
function poolOf(company: Company | undefined): string | undefined {
  return company?.isPool === true ? company.key : undefined;
}
