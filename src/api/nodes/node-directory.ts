/**
 * The directory over all nodes. This node shares the state of its edges. It sends the other nodes' state to its edges
 * as if it came from other edges of this node.
 */
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Presence } from "../../storage/cluster/presence.ts";
import type { OtherNodes } from "../edges/directory.ts";
import type { EdgeQueries } from "../edges/queries.ts";
import type { EdgeLine } from "../edges/edges.ts";
import type { DirectoryEntry } from "../../directory/news.ts";
import type { Agents } from "../../directory/replica.ts";
import { shareNameClaims } from "./node-claims.ts";
import { NodeEntries } from "./node-entries.ts";
import type { NodeEntriesOptions } from "./node-entries.ts";

export interface NodeDirectoryOptions extends NodeEntriesOptions {
  readonly presence: Presence;
  /** The host at which other nodes reach this machine. */
  readonly host: () => string;
  /** Resolves once the edges of other nodes have applied the change, or after `timeoutMs` with the edges that have not. */
  readonly reached: EdgeQueries["reached"];
  readonly clock: Clock;
}

export interface NodeDirectory extends OtherNodes {
  /** The edges of other nodes that are members of the cluster. */
  lines(): readonly EdgeLine[];
  /** The edges of all other nodes, including nodes that are cut off from the database. */
  allLines(): readonly EdgeLine[];
  /** The same edges by their nodes. */
  linesByNode(): ReadonlyMap<string, readonly EdgeLine[]>;
  /** The edge of another node that has a session. */
  lineOf(sessionId: string): EdgeLine | undefined;
  readonly agents: Agents;
  /** Ends agents with revoked tokens at nodes that are cut off from the database. */
  endRevoked(): void;
  /** The addresses of this node's edges, separated by commas; undefined while no edge is connected. */
  address(): string | undefined;
}

/** How long an agent waits for other nodes to serve its tunnel. */
const publishMs = 1_000;
/** How long other nodes avoid a port that is taken here. An edge reports it again if it is still taken then. */
const occupiedMs = 600_000;

export function openNodeDirectory(options: NodeDirectoryOptions): NodeDirectory {
  const { presence, host, clock } = options;
  const put = (id: string, entry: DirectoryEntry, name?: Parameters<Presence["put"]>[2]): void =>
    presence.put(id, JSON.stringify(entry), name);
  const entries = new NodeEntries(options);
  /** Addresses of the edges of this node. */
  const own = new Map<string, string>();
  /** Ports that are shared as taken, until they may be tried again. */
  const occupied = new Map<string, Timer>();
  const reachedBy = inBatches((change) => options.reached({ revision: 0, change }, publishMs));
  return {
    claims: (local) => shareNameClaims(local, presence, clock),
    putEdge(edgeId, port) {
      const at = placeText(host(), port);
      own.set(edgeId, at);
      put(edgeId, { what: "edge", edgeId, address: `tls:${at}` });
    },
    put(entry) {
      if (entry.what === "session") return put(entry.session.id, entry);
      const { shared } = entry;
      if (!shared) return;
      const { id, endpoint, accountId } = shared;
      entries.serves(shared);
      put(id, entry, endpoint && { name: endpoint.name, accountId, pool: endpoint.pool });
    },
    occupied(edgeId, port) {
      const id = `${edgeId}:${port}`;
      occupied.get(id)?.cancel();
      occupied.set(
        id,
        clock.after(occupiedMs, () => {
          occupied.delete(id);
          presence.remove(id);
        }),
      );
      put(id, { what: "port", edgeId, port });
    },
    remove(id) {
      if (own.delete(id)) {
        const ports = [...occupied.keys()].filter((one) => one.startsWith(`${id}:`));
        for (const one of ports) {
          occupied.get(one)?.cancel();
          occupied.delete(one);
          presence.remove(one);
        }
      }
      presence.remove(id);
    },
    told: (done) => void presence.told().then((change) => reachedBy(change, done)),
    change: () => presence.change,
    news: () => entries.news(),
    edgeIds: () => entries.edgeIds(),
    follow: (told, taken) => entries.follow(told, taken),
    lines: () => entries.lines(),
    allLines: () => entries.allLines(),
    linesByNode: () => entries.linesByNode(),
    lineOf: (sessionId) => entries.lineOf(sessionId),
    agents: entries.agents,
    endRevoked: () => entries.endRevoked(),
    address: () => (own.size > 0 ? [...own.values()].join(", ") : undefined),
  };
}

/**
 * While one question is open, later calls wait. The next question asks for the newest of their numbers and answers them
 * all.
 */
function inBatches(ask: (number: number) => Promise<unknown>): (number: number, done: () => void) => void {
  let waiting: (() => void)[] = [];
  let newest = 0;
  let isAsking = false;
  const work = async (): Promise<void> => {
    isAsking = true;
    while (waiting.length > 0) {
      const answered = waiting;
      waiting = [];
      await ask(newest);
      for (const done of answered) done();
    }
    isAsking = false;
  };
  return (number, done) => {
    newest = Math.max(newest, number);
    waiting.push(done);
    if (!isAsking) runUnattended("task", work());
  };
}

function placeText(host: string, port: number): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
