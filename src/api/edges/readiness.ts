/** Whether this server is ready for requests, based on the state of its edges and its storage. */
import type { Clock } from "../../lib/clock.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { Store } from "../../storage/store.ts";
import type { EdgeLine, EdgeObserver } from "./edges.ts";

export interface Readiness {
  /** Why this server should not receive traffic. Undefined if it is ready. */
  traffic(): string | undefined;
  /** Why the API rejects writes. Undefined if it accepts them. */
  writes(): string | undefined;
  /** Why a load balancer should prefer other servers: `traffic`, then `writes`, then isolation from other nodes. */
  all(): string | undefined;
  /** What the other nodes report if they no longer count on this one. */
  cutOff(): string | undefined;
  /** Notes that someone checks this server, and will choose another one when it stops. */
  noteCheck(): void;
}

export interface TrackedReadiness extends Readiness, EdgeObserver {
  /** Marks the server as a node that reaches no other node, or as one that does again. */
  isolate(isIsolated: boolean): void;
  /** Marks the server as not ready, because it is stopping. */
  stop(): void;
}

export interface ReadinessChecks {
  readonly clock: Clock;
  /** Called when the server is checked, at most every 10 seconds. */
  readonly checked: () => void;
}

/** Shortest interval between two calls of `checked`, milliseconds. */
const checkedEveryMs = 10_000;

type EdgeState = { readonly edgeId: string; isConfigured: boolean; isDraining: boolean };

const isolated =
  "this node reaches no other node: check that its port of `--peer-listen` and those of the other nodes are reachable";

/**
 * Tracks traffic and writes separately, because edges serve their configuration even when nothing can be stored (S3,
 * S4).
 */
export function trackReadiness(
  store: Pick<Store, "condition" | "node">,
  metrics: Metrics,
  { clock, checked }: ReadinessChecks,
): TrackedReadiness {
  let checkedAt = -Infinity;
  const states = new Map<EdgeLine, EdgeState>();
  let isStopping = false;
  let isIsolated = false;
  const readiness: TrackedReadiness = {
    receive(message, line) {
      const state = states.get(line);
      // An edge that repeats its hello to get a snapshot keeps serving meanwhile.
      if (message.type === "hello" && message.edgeId !== state?.edgeId) {
        states.set(line, { edgeId: message.edgeId, isConfigured: false, isDraining: false });
      } else if (message.type === "applied" && state) state.isConfigured = true;
      else if (message.type === "gone") states.delete(line);
      else if (message.type === "draining" && state) state.isDraining = true;
    },
    isolate: (next) => void (isIsolated = next),
    stop: () => void (isStopping = true),
    noteCheck() {
      if (clock.monotonic() - checkedAt < checkedEveryMs) return;
      checkedAt = clock.monotonic();
      checked();
    },
    traffic() {
      const all = [...states.values()];
      if (isStopping || all.some(({ isDraining }) => isDraining)) return "the server is stopping";
      return all.some(({ isConfigured }) => isConfigured) ? undefined : "no edge has a configuration yet";
    },
    all: () => readiness.traffic() ?? readiness.writes() ?? (isIsolated ? isolated : undefined),
    writes() {
      if (store.condition === "open") return readiness.cutOff();
      return store.condition === "superseded"
        ? "writes are rejected because another process has taken over the database: restart this server"
        : "writes are rejected because the database does not accept them; the log has the reason, and the server retries";
    },
    cutOff: () =>
      store.node?.isAlive() === false
        ? "writes are rejected because this node's lease has expired: other nodes have taken over until the database answers this node again"
        : undefined,
  };
  trackNode(store, metrics);
  if (store.node) {
    metrics.gauge(
      "postern_node_isolated",
      "1 while this node reaches no other node, although it reaches the database.",
      () => (isIsolated ? 1 : 0),
    );
  }
  metrics.gauge("postern_ready", "1 if this server accepts traffic, as in `/readyz`.", () =>
    readiness.traffic() === undefined ? 1 : 0,
  );
  metrics.gauge("postern_writes_ready", "1 if the server stores writes, as in `/readyz?of=writes`.", () =>
    readiness.writes() === undefined ? 1 : 0,
  );
  return readiness;
}

/** Tracks this node's state in the cluster. */
function trackNode({ node }: Pick<Store, "node">, metrics: Metrics): void {
  if (!node) return;
  metrics.gauge("postern_node_lease", "1 while this node holds a valid lease.", () => (node.isAlive() ? 1 : 0));
  metrics.gauge("postern_nodes", "Live servers with the same database, as this server last read.", () => node.alive);
  metrics.gauge(
    "postern_node_behind",
    "Revisions of other nodes that this node had not applied at its last check.",
    () => node.behind,
  );
  metrics.gauge(
    "postern_node_commit_retries",
    "Commits that were retried since the start because another node was first.",
    () => node.retries,
  );
}
