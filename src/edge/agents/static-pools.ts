import type { ByteReceiver } from "../../lib/byte-stream.ts";
import { socketStream } from "../../lib/socket-stream.ts";
import { passed } from "../../modules/step.ts";
import type { Step } from "../../modules/step.ts";
import { UpstreamPool } from "../http/upstream-pool.ts";
import type { PoolOptions } from "../http/upstream-pool.ts";
import { dial } from "./dial.ts";
import type { DialOptions, StaticAddress } from "./dial.ts";

/** A pool that a request may go to. */
export interface Way {
  readonly pool: UpstreamPool;
  /** Made once: it says the same for every request. */
  readonly step: Step;
}

/** From this many pools on, those without a connection are given up when another is made. */
const manyPools = 1000;

/** One pool for each static address, shared by all backends that name it. */
export function makeStaticPools(
  context: PoolOptions["context"],
  options: DialOptions,
): { to(address: StaticAddress): Way } {
  const ways = new Map<string, Way>();
  return {
    to(address) {
      const key = `${address.tls ? "tls" : "tcp"} ${address.host}:${address.port}`;
      const known = ways.get(key);
      if (known) return known;
      if (ways.size >= manyPools) dropUnused(ways);
      const pool = new UpstreamPool({
        open: (_exchange, take) =>
          dial(address, options, (result) => {
            if (result instanceof Error) {
              context.log.info("static backend unreachable", { address: key, why: result });
              take(undefined);
            } else {
              take(socketStream(result, nobody));
            }
          }),
        context,
        isAgent: false,
        reuse: true,
      });
      const way = { pool, step: passed("backend", `sent to ${key}`) };
      ways.set(key, way);
      return way;
    },
  };
}

function dropUnused(ways: Map<string, Way>): void {
  for (const [key, { pool }] of ways) {
    if (pool.outstanding > 0 || pool.idle > 0) continue;
    pool.close();
    ways.delete(key);
  }
}

/** Until the pool has taken the stream over, which it does at once. */
const nobody: ByteReceiver = { data() {}, ended() {}, drained() {}, closed() {} };
