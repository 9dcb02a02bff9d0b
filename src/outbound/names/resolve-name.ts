/** The name resolver of this thread. */
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";
import { systemClock } from "../../lib/clock.ts";
import { makeAsk } from "./ask.ts";
import { makeNameResolver } from "./resolver.ts";
import type { NameResolver } from "./resolver.ts";

const key = "postern name servers";

let current: NameResolver | undefined;
let currentServers = "";

/**
 * Sets the name servers of this thread and of later threads, like `resolv.conf` for a machine.
 * @param servers `address` or `address:port`; empty for the system's
 */
export function useNameServers(servers: readonly string[]): void {
  setEnvironmentData(key, servers.join());
}

/** Like `NameResolver.resolve`, with this thread's resolver. */
export const resolveName: NameResolver["resolve"] = (name, asker, done) => {
  const set = getEnvironmentData(key);
  const given = typeof set === "string" ? set : "";
  if (!current || given !== currentServers) {
    currentServers = given;
    const servers = given === "" ? [] : given.split(",");
    current = makeNameResolver(systemClock, makeAsk(systemClock, servers));
  }
  return current.resolve(name, asker, done);
};
