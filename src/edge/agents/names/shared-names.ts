/** Public names with several edges: an edge claims a name at the control plane before its agent gets the URL. */
import type { Clock, Timer } from "../../../lib/clock.ts";
import { Refusal } from "../../../lib/errors.ts";
import type { ClaimAnswer } from "../../../directory/name-claims.ts";
import type { Upward } from "../../../routing/planes/messages.ts";
import type { BindProgress, Unclaimed } from "../../../tunnel/server-hooks.ts";
import { claimedName } from "../tunnels/tunnel.ts";
import type { Tunnel } from "../tunnels/tunnel.ts";

/** A compiled endpoint that is not on the register yet. */
export interface OpenedEndpoint {
  readonly tunnel: Tunnel;
  /** Tunnels of the same credential that close first, because their agent was asked and did not answer. */
  readonly replaces: readonly Tunnel[];
  /** Whether the name is random, so that no other tunnel can have it. */
  readonly isFresh: boolean;
}

export interface SharedNames {
  /**
   * Returns the claim that must be granted before the tunnel opens. Undefined if none is needed. Throws
   * `agent_name_unconfirmed` if the control plane is unreachable, unless the credential had the name here or the name
   * is random.
   * @param progress of this bind
   */
  demand(opened: OpenedEndpoint, progress: BindProgress): Unclaimed | undefined;
  /** Releases the grant of a failed bind. */
  drop(tunnelId: string, progress: BindProgress): void;
  /**
   * Called before the tunnel opens. Its agent gets the answer once the other edges serve it, or after a short time, or
   * immediately without a control plane.
   */
  publish(tunnelId: string, progress: BindProgress): void;
  /** Called when the other edges serve the tunnel. */
  published(tunnelId: string): void;
  /** Receives the control plane's answer to a claim. */
  answered(call: number, answer: ClaimAnswer): void;
  /** Called when the link to the control plane fails or recovers. */
  reachable(isReachable: boolean): void;
  /**
   * Whether the control plane is reachable.
   * @param progress of this bind
   */
  canAsk(progress: BindProgress): boolean;
}

export interface SharedNamesOptions {
  readonly report: (message: Upward) => void;
  /** Whether the tunnel's credential has its name at this edge, or had it here last. */
  readonly wasHere: (tunnel: Tunnel) => boolean;
  readonly clock: Clock;
}

/**
 * Maximum time between two answers of the control plane, milliseconds. It answers claims one after another and may have
 * many.
 */
const silentMs = 3_000;
/** Maximum time of one claim, milliseconds. A claim waits for an earlier claim of the same name. */
const claimMs = 15_000;
/** Maximum time that an agent waits for the other edges to serve its tunnel, milliseconds. */
const publishMs = 1_000;
/** Maximum number of claims of one bind that lose to faster ones. */
const maxConflicts = 16;

type ClaimCallback = (answer: ClaimAnswer) => void;

/** A claim without an answer yet. */
interface PendingClaim {
  readonly at: number;
  readonly tunnelId: string;
  readonly settle: ClaimCallback;
}

/** The claims that this edge has sent. */
interface AskedClaims {
  ask(tunnel: Tunnel, name: string, replaces: readonly string[], done: ClaimCallback): void;
  answered(call: number, answer: ClaimAnswer): void;
  /** Fails all claims, because the control plane has disconnected. */
  giveUp(): void;
}

function makeAskedClaims({ report, clock }: Pick<SharedNamesOptions, "report" | "clock">): AskedClaims {
  /** The oldest claim comes first. */
  const waiting = new Map<number, PendingClaim>();
  let lastCall = 0;
  /** Time of the control plane's last answer to a claim, see `Clock.monotonic`. */
  let heardAt = -Infinity;
  /** One timer for all claims, because there are thousands after a node's death. */
  let watching: Timer | undefined;

  const watch = (): void => {
    const [first] = waiting.values();
    if (watching || !first) return;
    watching = clock.after(Math.max(1, overAt(first) - clock.monotonic()), () => {
      watching = undefined;
      const now = clock.monotonic();
      for (const one of waiting.values()) {
        if (overAt(one) > now) break;
        report({ type: "claim_dropped", tunnelId: one.tunnelId });
        one.settle("unasked");
      }
      watch();
    });
  };
  const overAt = ({ at }: PendingClaim): number => Math.min(Math.max(at, heardAt) + silentMs, at + claimMs);
  const ask = (tunnel: Tunnel, name: string, replaces: readonly string[], done: ClaimCallback): void => {
    lastCall += 1;
    const call = lastCall;
    const pool = tunnel.company?.key;
    const settle: ClaimCallback = (answer) => {
      if (!waiting.delete(call)) return;
      if (waiting.size === 0) watching = void watching?.cancel();
      done(answer);
    };
    waiting.set(call, { at: clock.monotonic(), tunnelId: tunnel.id, settle });
    watch();
    const claim = { name, tunnelId: tunnel.id, accountId: tunnel.session.accountId, replaces };
    report({ type: "claim", call, claim: { ...claim, ...(pool !== undefined && { pool }) } });
  };
  return {
    ask,
    answered(call, answer) {
      heardAt = clock.monotonic();
      waiting.get(call)?.settle(answer);
    },
    giveUp() {
      for (const { settle } of waiting.values()) settle("unasked");
    },
  };
}

export function makeSharedNames({ report, wasHere, clock }: SharedNamesOptions): SharedNames {
  const claims = makeAskedClaims({ report, clock });
  const publishing = new Map<string, () => void>();
  let isReachable = true;
  const canAsk = ({ isSilent }: BindProgress): boolean => isReachable && isSilent !== true;
  return {
    canAsk,
    demand({ tunnel, replaces, isFresh }, progress) {
      if (!tunnel.endpoint) return undefined;
      const name = claimedName(tunnel.endpoint);
      const { granted } = progress;
      if (granted && granted.name === name && replaces.every(({ id }) => granted.replaces.includes(id)))
        return undefined;
      if (!canAsk(progress)) {
        if (isFresh || (!replaces.some(({ isElsewhere }) => isElsewhere) && wasHere(tunnel))) return undefined;
        throw new Refusal(
          "agent_name_unconfirmed",
          `publish "${tunnel.endpoint.url}": the control plane cannot confirm that the name is free`,
        );
      }
      if ((progress.conflicts ?? 0) >= maxConflicts) {
        throw new Refusal(
          "agent_name_unconfirmed",
          `publish "${tunnel.endpoint.url}": too many others request it at the same time`,
        );
      }
      const wanted = { name, replaces: replaces.map(({ id }) => id) };
      return {
        claim: (done) =>
          claims.ask(tunnel, name, wanted.replaces, (answer) => {
            progress.granted = answer === "granted" ? wanted : undefined;
            if (answer === "conflict") progress.conflicts = (progress.conflicts ?? 0) + 1;
            if (answer === "unasked") progress.isSilent = true;
            done();
          }),
      };
    },
    drop(tunnelId, progress) {
      if (progress.granted) report({ type: "claim_dropped", tunnelId });
      progress.granted = undefined;
    },
    publish(tunnelId, progress) {
      if (!isReachable) return;
      let isTold = false;
      let waiting: (() => void) | undefined;
      const onAnswer = (): void => {
        if (isTold) return;
        isTold = true;
        deadline.cancel();
        if (publishing.get(tunnelId) === onAnswer) publishing.delete(tunnelId);
        waiting?.();
      };
      const deadline = clock.after(publishMs, onAnswer);
      publishing.set(tunnelId, onAnswer);
      progress.ready = (done) => {
        if (isTold) done();
        else waiting = done;
      };
    },
    published: (tunnelId) => publishing.get(tunnelId)?.(),
    answered: claims.answered,
    reachable(isNow) {
      isReachable = isNow;
      if (isNow) return;
      for (const told of publishing.values()) told();
      claims.giveUp();
    },
  };
}
