/** Creates the backends of an imported Caddy configuration: one for each set of upstreams. */
import { isIP } from "node:net";
import type { JsonObject } from "../../lib/json.ts";
import { nodeAt } from "../formats/source-tree.ts";
import type { Names } from "../report/unique-names.ts";
import type { Proxy, ImportedSite } from "./imported-site.ts";

export class Backends {
  readonly #names: Names;
  readonly #byKey = new Map<string, string>();
  readonly #kinds: Record<string, Record<string, JsonObject>> = {};
  readonly #used = new Set<Proxy>();

  constructor(names: Names) {
    this.#names = names;
  }

  /** Returns the name of the backend for a proxy of the site. */
  nameOf(site: ImportedSite, proxy: number): string {
    const found = site.proxies[proxy] as Proxy;
    this.#used.add(found);
    const { addresses, isTls, isFirst } = found;
    const members = addresses.map((address) => this.#static(address, isTls));
    const isLocal = addresses.some((address) => /^(?:localhost|127\.|\[?::1)/.test(address));
    if (isLocal) {
      const text = `static backend ${addresses.join(", ")}. The server connects to its own machine only with --allow-local-upstreams. Otherwise publish the service with an agent`;
      site.ledger.say(nodeAt(found.node, "upstreams"), "mapped differently", text);
    }
    const [only] = members;
    if (members.length === 1 && only !== undefined) return only;
    if (isFirst) return this.#make("failover_backend", members.join(" "), { backends: members });
    const shares = Object.fromEntries(members.map((member) => [member, 1]));
    return this.#make("weighted_backend", members.join(" "), { backends: shares });
  }

  /** A proxy without a path that leads to it depends on a condition other than the path. */
  sayUnused({ proxies, ledger }: ImportedSite): void {
    for (const proxy of proxies) {
      if (this.#used.has(proxy)) continue;
      const text =
        "no path leads to this backend: an earlier handler answers, or the choice depends on more than the path. Such requests get 502. Give the backend its own host or path";
      ledger.say(proxy.node, "left out", text);
      for (const key of ["upstreams", "headers.request", "headers.response", "transport", "load_balancing"])
        ledger.say(nodeAt(proxy.node, key), "left out", text);
    }
  }

  objects(): Record<string, Record<string, JsonObject>> {
    return this.#kinds;
  }

  #static(address: string, isTls: boolean): string {
    const host = address.slice(0, address.lastIndexOf(":"));
    const shown = isIP(host) === 6 ? `[${host}]${address.slice(host.length)}` : address;
    return this.#make("static_backend", `${isTls ? "tls " : ""}${shown}`, {
      address: shown,
      ...(isTls && { tls: { enabled: true } }),
    });
  }

  #make(kind: string, key: string, fields: JsonObject): string {
    const known = this.#byKey.get(`${kind} ${key}`);
    if (known !== undefined) return known;
    const name = this.#names.take([kind.replace("_backend", ""), key.replaceAll("static-", "")]);
    this.#byKey.set(`${kind} ${key}`, name);
    (this.#kinds[kind] ??= {})[name] = fields;
    return name;
  }
}
