/** Hosts that several proxies serve by path prefix. The longest location wins. */
import type { JsonObject } from "../../lib/json.ts";
import type { Names } from "../report/unique-names.ts";

interface Location {
  readonly name: string;
  /** Empty for every path. */
  readonly path: string;
  readonly tunnel: JsonObject;
}

export class LocationRoutes {
  readonly #hosts = new Map<string, Location[]>();

  add(host: string, name: string, paths: readonly string[], tunnel: JsonObject): void {
    const known = this.#hosts.get(host) ?? [];
    this.#hosts.set(host, [...known, ...paths.map((path) => ({ name, path, tunnel }))]);
  }

  /**
   * A host without locations becomes one tunnel. Other hosts become a cloud endpoint that forwards to internal tunnels.
   */
  finish(names: Names): { readonly tunnels: JsonObject; readonly endpoints: ReadonlyMap<string, JsonObject> } {
    const tunnels: Record<string, JsonObject> = {};
    const endpoints = new Map<string, JsonObject>();
    const internal = new Map<JsonObject, string>();
    for (const [host, locations] of this.#hosts) {
      if (locations.every(({ path }) => path === "")) {
        for (const { name, tunnel } of locations) tunnels[names.take([name])] = { ...tunnel, url: `https://${host}` };
        continue;
      }
      const rules = locations
        .toSorted((a, b) => b.path.length - a.path.length)
        .map(({ name, path, tunnel }) => {
          const url =
            internal.get(tunnel) ?? `https://frp-${names.take([name, "internal"]).replaceAll(".", "-")}.internal`;
          internal.set(tunnel, url);
          const expressions = path === "" ? {} : { expressions: [`req.url.path.startsWith(${JSON.stringify(path)})`] };
          return { ...expressions, actions: [{ type: "forward-internal", config: { url } }] };
        });
      const rest = { actions: [{ type: "custom-response", config: { status_code: 404 } }] };
      const all = locations.some(({ path }) => path === "") ? rules : [...rules, rest];
      endpoints.set(names.take(["endpoint", host]), {
        url: `https://${host}`,
        type: "cloud",
        traffic_policy: { $json: { on_http_request: all } },
      });
    }
    for (const [tunnel, url] of internal)
      tunnels[names.take([new URL(url).hostname])] = { ...tunnel, url, bindings: ["internal"] };
    return { tunnels, endpoints };
  }
}
