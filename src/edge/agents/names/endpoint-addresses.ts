/** Addresses of tcp endpoints: one port each, from the server's range or reserved by the account. */
import { createHash } from "node:crypto";
import { Refusal } from "../../../lib/errors.ts";
import { Lru } from "../../../lib/collections/lru.ts";
import type { RoutingTable } from "../../../routing/sites/compiled-site.ts";
import { makeClaims } from "./agent-claims.ts";
import type { Claimant, Claims } from "./agent-claims.ts";
import { explainServedByOthers } from "./endpoint-hosts.ts";
import { PortMarks } from "./port-marks.ts";

/** Ports for agents, including first and last. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

export interface EndpointAddresses extends Claims<number> {
  /**
   * Returns the port of the address that an agent requests: `host:port` or `:port`. Throws `agent_request_invalid`.
   * Throws `agent_name_taken` for an address outside the range that the account has not reserved.
   */
  requested(address: string, claimant: Claimant): { readonly host: string; readonly port: number };
  /**
   * Returns the first free port for these parts, which is the same for the same parts. Throws `agent_limit` if the
   * whole range is taken. `passes` returns whether a port in use may be taken over. It is called once for each such
   * port and claimant.
   */
  generated(parts: readonly string[], claimant: Claimant, passes: (port: number) => boolean): number;
  /** Excludes a port for some time, because another program on the server listens there. */
  avoid(port: number): void;
}

/** Time for which an unavailable port is excluded, milliseconds. */
const avoidedMs = 600_000;
/** Maximum number of port lists whose searches are remembered. */
const maxSearches = 10_000;

/**
 * @param domain the host of addresses in the range
 * @param monotonic milliseconds, see `Clock`
 */
export function makeEndpointAddresses(
  table: RoutingTable,
  domain: string,
  range: PortRange,
  monotonic: () => number,
): EndpointAddresses {
  const avoided = new Map<number, number>();
  const claims = makeClaims<number>({
    reservation(port, accountId, _exactOnly, pool) {
      const holder = table.portHolder(port);
      if (!holder) return undefined;
      if (holder.accountId !== accountId) return "it is not available";
      const site = holder.kind === "tcp_edge" ? table.tcpSite(holder.id) : undefined;
      return site && explainServedByOthers([site], pool);
    },
    shown: (port) => `port ${port}`,
    monotonic,
  });
  const isAvoided = (port: number): boolean => {
    const until = avoided.get(port) ?? 0;
    if (until <= monotonic()) avoided.delete(port);
    return until > monotonic();
  };
  const count = range.last - range.first + 1;
  const unserved = new PortMarks(count);
  claims.onReleased((port) => unserved.set(port - range.first, true));
  /** For each list of ports, the number of taken ports at its start that a claimant found. */
  const searches = new Lru<string, WeakMap<Claimant, number>>(maxSearches);
  /** Returns the first step from `from` on and before `to` whose port is unserved, or -1. */
  const nextUnserved = (start: number, from: number, to: number): number => {
    const wrap = count - start;
    if (from < wrap) {
      const found = unserved.next(start + from, Math.min(start + to, count));
      if (found !== -1) return found - start;
    }
    const found = unserved.next(Math.max(from - wrap, 0), to - wrap);
    return found === -1 ? -1 : found + wrap;
  };
  return {
    ...claims,
    requested(address, { accountId }) {
      const parts = /^(?:(?<host>[^:\s]+)?:)?(?<port>[1-9]\d{0,4})$/.exec(address)?.groups;
      const port = Number(parts?.["port"] ?? 0);
      if (!parts || port === 0 || port > 65_535) {
        throw new Refusal("agent_request_invalid", `publish "${address}": it is not a host and a port`);
      }
      const host = (parts["host"] ?? domain).toLowerCase();
      const holder = table.portHolder(port);
      const reserved = holder?.accountId === accountId && table.object(holder.kind, holder.id)?.doc["addr"];
      if (typeof reserved === "string") return { host: reserved.slice(0, reserved.lastIndexOf(":")), port };
      // A holder is reported later, by the claim.
      if (holder || (host === domain && port >= range.first && port <= range.last)) return { host, port };
      throw new Refusal(
        "agent_name_taken",
        `publish "${address}": addresses are ${domain} with a port from ${range.first} to ${range.last}, or reserved with \`POST /reserved_addrs\``,
      );
    },
    generated(parts, claimant, passes) {
      const key = parts.join("\0");
      const start = createHash("sha256").update(key).digest().readUInt32BE(0) % count;
      const portAt = (step: number): number => range.first + ((start + step) % count);
      const fits = (port: number): boolean =>
        // A reserved address is only given to agents that request it.
        !isAvoided(port) && !table.portHolder(port) && passes(port) && claims.isFree(port, claimant, undefined);
      let reached = searches.get(key);
      if (!reached) searches.set(key, (reached = new WeakMap()));
      const before = reached.get(claimant) ?? 0;
      // First try those earlier ports that are unserved now.
      for (let step = nextUnserved(start, 0, before); step !== -1; step = nextUnserved(start, step + 1, before)) {
        if (fits(portAt(step))) return portAt(step);
      }
      for (let step = before; step < count; step += 1) {
        if (!fits(portAt(step))) continue;
        reached.set(claimant, step);
        return portAt(step);
      }
      reached.set(claimant, count);
      throw new Refusal("agent_limit", `open a tcp tunnel: all ports from ${range.first} to ${range.last} are in use`);
    },
    put(port, tunnel) {
      claims.put(port, tunnel);
      unserved.set(port - range.first, false);
    },
    avoid: (port) => void avoided.set(port, monotonic() + avoidedMs),
  };
}
