import type { ResourceObject } from "../../schema/object.ts";
import { arePooled } from "./endpoint-objects.ts";
import { HostMap } from "../sites/host-map.ts";
import { nothing } from "./units.ts";
import { docOf } from "../../schema/doc.ts";
import { reservedDomain } from "../../resources/reserved-domain.ts";

/** Holders of host names: edges that serve them, and reservations. HTTPS and TLS edges share the names. */
export class Hosts<Holder extends { readonly object: ResourceObject }> {
  readonly #serving = new HostMap<Holder>();
  /** Holders of shared names. The first holder serves the name. */
  readonly #pools = new Map<string, readonly Holder[]>();
  readonly #reserved = new HostMap<ResourceObject>();

  /** Assigns the name to `holder`. If another holder serves the name without sharing it, returns that holder. */
  serve(host: string, holder: Holder): Holder | undefined {
    const present = this.#serving.put(host, holder);
    if (present === undefined || present === holder) return undefined;
    if (!arePooled(present.object, holder.object)) return present;
    this.#pools.set(host, [...this.pool(host), holder]);
    return undefined;
  }

  /** Does nothing if `holder` does not serve the name. */
  withdraw(host: string, holder: Holder): void {
    const rest = this.#pools.get(host)?.filter((one) => one !== holder);
    this.#serving.remove(host, holder);
    if (!rest) return;
    if (rest.length > 1) this.#pools.set(host, rest);
    else this.#pools.delete(host);
    this.#serving.put(host, rest[0] as Holder);
  }

  /** Returns all holders of exactly this name. Several may share it. */
  pool(name: string): readonly Holder[] {
    const pool = this.#pools.get(name);
    if (pool) return pool;
    const one = this.#serving.get(name);
    return one ? [one] : none;
  }

  reserve(before: ResourceObject | undefined, after: ResourceObject | null): void {
    if (before) this.#reserved.remove(nameOf(before), before);
    if (after) this.#reserved.put(nameOf(after), after);
  }

  /** Returns the holder of exactly this name, including `*.`. */
  named(name: string): Holder | undefined {
    return this.#serving.get(name);
  }

  /**
   * Returns the holder that serves `host`. A wildcard never covers a name that another account has reserved (control
   * R5).
   */
  serving(host: string): Holder | undefined {
    const exact = this.#serving.exact(host);
    if (exact) return exact;
    let reservedBy = this.#reserved.exact(host)?.account_id;
    for (let dot = host.indexOf("."); dot >= 0; dot = host.indexOf(".", dot + 1)) {
      const holder = this.#serving.wildcard(host, dot);
      if (holder) return reservedBy === undefined || reservedBy === holder.object.account_id ? holder : undefined;
      reservedBy ??= this.#reserved.wildcard(host, dot)?.account_id;
    }
    return undefined;
  }

  /** Returns the edge or else the reservation of the name, or of the longest wildcard that covers it. */
  holder(host: string): ResourceObject | undefined {
    let found = this.#serving.exact(host)?.object ?? this.#reserved.exact(host);
    for (let dot = host.indexOf("."); !found && dot >= 0; dot = host.indexOf(".", dot + 1)) {
      found = this.#serving.wildcard(host, dot)?.object ?? this.#reserved.wildcard(host, dot);
    }
    return found;
  }
}

const none: readonly never[] = [];

function nameOf(reservation: ResourceObject): string {
  return docOf(reservation, reservedDomain).domain.toLowerCase();
}

export function hostportsOf({ doc }: ResourceObject): readonly string[] {
  return Array.isArray(doc["hostports"]) ? (doc["hostports"] as string[]) : nothing;
}

/** Returns the host names of the hostports, lower case, without duplicates. */
export function hostsOf(object: ResourceObject): readonly string[] {
  const hostports = hostportsOf(object);
  if (hostports.length === 1) return [hostOf(hostports[0] as string)];
  return [...new Set(hostports.map(hostOf))];
}

/** Returns the host name of a hostport, lower case. */
export function hostOf(hostport: string): string {
  return hostport.slice(0, hostport.lastIndexOf(":")).toLowerCase();
}
