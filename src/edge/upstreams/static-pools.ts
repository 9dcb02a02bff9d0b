import { makeContained } from "../../lib/boundary.ts";
import type { Socket } from "node:net";
import { discardingReceiver } from "../../lib/io/byte-stream.ts";
import { Refusal } from "../../lib/errors.ts";
import { socketStream } from "../../lib/io/socket-stream.ts";
import { UpstreamPool } from "./upstream-pool.ts";
import type { PoolPair } from "./upstream-pool.ts";
import type { UpstreamContext } from "./upstream-context.ts";
import { dialAddress } from "./dial.ts";
import type { DialOptions, StaticAddress } from "./dial.ts";

export interface StaticPools {
  to(address: StaticAddress): PoolPair;
  /** Undefined if no request was sent there recently. */
  known(address: StaticAddress): PoolPair | undefined;
}

/** Number of addresses from which adding one removes those without a connection. */
const manyAddresses = 1000;

/** Keeps one pool per static address, shared by all backends with that address. */
export function makeStaticPools(context: UpstreamContext, options: DialOptions): StaticPools {
  const pairs = new Map<string, PoolPair>();
  const poolOf = (address: StaticAddress, key: string, http: boolean): UpstreamPool =>
    new UpstreamPool({
      open({ accountId = "" }, take) {
        const reached = (result: Socket | Error): void => {
          if (result instanceof Error) {
            context.log.info("static backend unreachable", { address: key, why: result });
            if (result instanceof Refusal) take(undefined, result.reason, result.message);
            else take(undefined);
          } else {
            take(socketStream(result, discardingReceiver, true));
          }
        };
        return dialAddress(
          address,
          accountId,
          { ...options, http },
          makeContained("stream", reached, () => take(undefined)),
        );
      },
      context,
      isAgent: false,
      reuse: http,
    });
  return {
    to(address) {
      const key = keyOf(address);
      const known = pairs.get(key);
      if (known) return known;
      if (pairs.size >= manyAddresses) dropUnused(pairs);
      const pair = { http: poolOf(address, key, true), raw: poolOf(address, key, false) };
      pairs.set(key, pair);
      return pair;
    },
    known: (address) => pairs.get(keyOf(address)),
  };
}

/** Returns the same text for the same address. */
export function keyOf({ tls, host, port }: StaticAddress): string {
  return `${tls ? "tls" : "tcp"} ${host}:${port}`;
}

function dropUnused(pairs: Map<string, PoolPair>): void {
  for (const [key, { http, raw }] of pairs) {
    if (http.outstanding > 0 || http.idle > 0 || raw.outstanding > 0) continue;
    http.close();
    raw.close();
    pairs.delete(key);
  }
}
