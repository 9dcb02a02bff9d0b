import type { ByteReceiver } from "../../lib/byte-stream.ts";
import { Refusal } from "../../lib/errors.ts";
import { socketStream } from "../../lib/socket-stream.ts";
import { UpstreamPool } from "./upstream-pool.ts";
import type { PoolOptions } from "./upstream-pool.ts";
import { dial } from "./dial.ts";
import type { DialOptions, StaticAddress } from "./dial.ts";

/** The connections to an address. */
interface Way {
  readonly http: UpstreamPool;
  /** Connections that are not spoken to in HTTP; none of them is used twice. */
  readonly raw: UpstreamPool;
}

export interface StaticPools {
  to(address: StaticAddress): Way;
  /** Undefined when nothing was sent there lately. */
  known(address: StaticAddress): Way | undefined;
}

/** From this many addresses on, those without a connection are given up when another is added. */
const manyAddresses = 1000;

/** One pool for each static address, shared by all backends that name it. */
export function makeStaticPools(context: PoolOptions["context"], options: DialOptions): StaticPools {
  const ways = new Map<string, Way>();
  const poolOf = (address: StaticAddress, key: string, http: boolean): UpstreamPool =>
    new UpstreamPool({
      open(_exchange, take) {
        dial(address, { ...options, http }, (result) => {
          if (result instanceof Error) {
            context.log.info("static backend unreachable", { address: key, why: result });
            if (result instanceof Refusal) take(undefined, result.reason, result.message);
            else take(undefined);
          } else {
            take(socketStream(result, nobody, true));
          }
        });
        return undefined;
      },
      context,
      isAgent: false,
      reuse: http,
    });
  return {
    to(address) {
      const key = keyOf(address);
      const known = ways.get(key);
      if (known) return known;
      if (ways.size >= manyAddresses) dropUnused(ways);
      const way = { http: poolOf(address, key, true), raw: poolOf(address, key, false) };
      ways.set(key, way);
      return way;
    },
    known: (address) => ways.get(keyOf(address)),
  };
}

/** The same text for the same address. */
export function keyOf({ tls, host, port }: StaticAddress): string {
  return `${tls ? "tls" : "tcp"} ${host}:${port}`;
}

function dropUnused(ways: Map<string, Way>): void {
  for (const [key, { http, raw }] of ways) {
    if (http.outstanding > 0 || http.idle > 0 || raw.outstanding > 0) continue;
    http.close();
    raw.close();
    ways.delete(key);
  }
}

/** Until the pool has taken the stream over, which it does at once. */
const nobody: ByteReceiver = { data() {}, ended() {}, drained() {}, closed() {} };
