/** The nodes of the cluster, as objects in the form of stored ones. */
import type { Agents } from "../../directory/replica.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import { newId } from "../../lib/ids.ts";
import { node as nodes } from "../../resources/node.ts";
import type { DocOf } from "../../schema/doc.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import type { EdgeQueries } from "../edges/queries.ts";
import type { AppliedRevisions } from "../edges/applied.ts";

export interface Nodes {
  /** Returns the nodes as of the last `refresh`, and this node's current state. */
  all(): readonly StoredObject[];
  /** Asks the database and the edges. Without the database the list remains unchanged. */
  refresh(): Promise<void>;
  stop(): void;
}

export interface NodesOptions {
  readonly store: Store;
  readonly queries: Pick<EdgeQueries, "metrics">;
  /** The agents of this node. */
  readonly agents: Pick<Agents, "count">;
  readonly applied: Pick<AppliedRevisions, "everywhere">;
  readonly version: string;
  readonly region: string;
  readonly apiUrl: () => string;
  /** Returns the address at which other nodes reach this node's edges. */
  readonly peerAddress: () => string | undefined;
  readonly clock: Clock;
}

type NodeDoc = DocOf<typeof nodes>;

/** Interval at which this node publishes its number of connections. */
const countEveryMs = 5000;
const open = /^postern_(?:http|spliced)_connections(?:\{.*\})? (\d+)$/gm;

export function openNodes(options: NodesOptions): Nodes {
  const { store, queries, agents, applied, version, region, apiUrl, peerAddress, clock } = options;
  const startedAt = formatTimestamp(clock.now());
  const membership = store.node;
  const id = membership?.id ?? newId(nodes.idPrefix, clock.now());
  let connections = 0;
  let otherNodes: readonly StoredObject[] = [];
  const objectOf = (of: string, doc: NodeDoc): StoredObject => ({
    kind: nodes.name,
    id: of,
    account_id: "",
    revision: 0,
    created_at: doc.started_at ?? startedAt,
    doc,
  });
  const count = async (): Promise<void> => {
    connections = [...(await queries.metrics()).matchAll(open)].reduce((sum, [, one]) => sum + Number(one), 0);
  };
  const listOthers = async (): Promise<void> => {
    const rows = (await membership?.list()) ?? [];
    const now = clock.now();
    otherNodes = rows
      .filter((row) => row.id !== id)
      .map((row) =>
        objectOf(row.id, {
          version: row.version,
          region: row.region,
          api_url: row.api_url ?? "",
          peer_address: row.peer_address,
          started_at: row.started_at,
          configuration_revision: row.revision,
          agents: row.agents,
          connections: row.connections,
          lease: row.is_held ? "held" : "over",
          renewed_at: formatTimestamp(now - row.age_ms),
        }),
      );
  };
  const ownNode = (): StoredObject =>
    objectOf(id, {
      version,
      region,
      api_url: apiUrl(),
      peer_address: peerAddress() ?? null,
      started_at: startedAt,
      configuration_revision: applied.everywhere() ?? 0,
      agents: agents.count("sessions"),
      connections,
      lease: membership ? (membership.isAlive() ? "held" : "over") : "none",
      renewed_at: formatTimestamp(membership?.renewedAt ?? clock.now()),
    });
  membership?.describe(() => ({
    apiUrl: apiUrl(),
    peerAddress: peerAddress(),
    revision: applied.everywhere() ?? 0,
    agents: agents.count("sessions"),
    connections,
  }));
  const timer = membership && clock.every(countEveryMs, () => void count());
  return {
    all: () => [ownNode(), ...otherNodes],
    async refresh() {
      await Promise.all([count(), listOthers().catch(() => undefined)]);
    },
    stop: () => timer?.cancel(),
  };
}
