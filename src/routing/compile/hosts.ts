import type { ResourceObject } from "../../schema/object.ts";
import { arePooled } from "./cloud-endpoints.ts";
import { HostMap } from "../sites/host-map.ts";
import { nothing } from "./units.ts";
import { docOf } from "../../schema/doc.ts";
import { reservedDomain } from "../../resources/reserved-domain.ts";

/** Who holds host names: edges that serve them, and reservations. HTTPS and TLS edges share the names. */
export class Hosts<Holder extends { readonly object: ResourceObject }> {
  readonly #serving = new HostMap<Holder>();
  /** Of names that several share; the first is the one that serves. */
  readonly #pools = new Map<string, readonly Holder[]>();
  readonly #reserved = new HostMap<ResourceObject>();

  /** Gives `holder` the name, unless another serves it that does not share it: then that one is returned. */
  serve(host: string, holder: Holder): Holder | undefined {
    const present = this.#serving.put(host, holder);
    if (present === undefined || present === holder) return undefined;
    if (!arePooled(present.object, holder.object)) return present;
    this.#pools.set(host, [...this.pool(host), holder]);
    return undefined;
  }

  /** Harmless when `holder` does not serve the name. */
  withdraw(host: string, holder: Holder): void {
    const rest = this.#pools.get(host)?.filter((one) => one !== holder);
    this.#serving.remove(host, holder);
    if (!rest) return;
    if (rest.length > 1) this.#pools.set(host, rest);
    else this.#pools.delete(host);
    this.#serving.put(host, rest[0] as Holder);
  }

  /** All that serve the very name, which may be several that share it. */
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

  /** Who serves the very name, `*.` and all. */
  named(name: string): Holder | undefined {
    return this.#serving.get(name);
  }

  /** Who answers for `host`. A wildcard never takes a name that another account has reserved (control R5). */
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

  /** The edge or, failing that, the reservation that the name or the longest wildcard over it belongs to. */
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

/** Host names of the hostports, lower case, each once. */
export function hostsOf(object: ResourceObject): readonly string[] {
  const hostports = hostportsOf(object);
  if (hostports.length === 1) return [hostOf(hostports[0] as string)];
  return [...new Set(hostports.map(hostOf))];
}

/** The host name of a hostport, lower case. */
export function hostOf(hostport: string): string {
  return hostport.slice(0, hostport.lastIndexOf(":")).toLowerCase();
}
