/** The services of an account: its edges and endpoints, as addresses and texts to search. */
import { encodePath } from "./api-path.ts";
import type { Api } from "./api-path.ts";

export interface Service {
  readonly id: string;
  readonly kind: "https_edge" | "tls_edge" | "tcp_edge" | "endpoint";
  readonly scheme: string;
  /** Such as `app.example.com:443`, lower case. */
  readonly addresses: readonly string[];
  readonly description: string;
  readonly metadata: string;
}

export interface Services {
  readonly found: readonly Service[];
  /** Whether the account has more than were read. */
  readonly more: boolean;
}

const pageLimit = 100;
/** Maximum number of pages per list. */
const maxPages = 3;

/** Reads the account's services, at most 300 of each kind. Skips kinds that the key may not read. */
export async function readServices(api: Api): Promise<Services> {
  const found: Service[] = [];
  let more = false;
  const seen = new Set<string>();
  for (const kind of ["https", "tls", "tcp"] as const) {
    more = (await readList(api, `/edges/${kind}`, `${kind}_edges`, (one) => found.push(edgeOf(kind, one)))) || more;
  }
  more =
    (await readList(api, "/endpoints", "endpoints", (one) => {
      const address = String(one.hostport ?? "").toLowerCase();
      // Endpoints of edges repeat their edges.
      if (one.type === "edge" || seen.has(one.id)) return;
      seen.add(one.id);
      found.push({
        id: one.id,
        kind: "endpoint",
        scheme: String(one.scheme ?? one.proto ?? ""),
        addresses: address === "" ? [] : [address],
        description: String(one.description ?? ""),
        metadata: String(one.metadata ?? ""),
      });
    })) || more;
  return { found, more };
}

// oxlint-disable-next-line typescript/no-explicit-any
type Item = any;

async function readList(api: Api, at: string, key: string, add: (item: Item) => void): Promise<boolean> {
  let last: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const before = last === undefined ? "" : encodePath`&before_id=${last}`;
    const body = await api({ method: "GET", path: `${at}?limit=${pageLimit}${before}` });
    const items = (body[key] ?? []) as readonly Item[];
    for (const item of items) add(item);
    if (body.next_page_uri === null || items.length === 0) return false;
    last = String(items.at(-1)?.id);
  }
  return true;
}

function edgeOf(scheme: "https" | "tls" | "tcp", edge: Item): Service {
  return {
    id: edge.id,
    kind: `${scheme}_edge`,
    scheme,
    addresses: ((edge.hostports ?? []) as readonly string[]).map((one) => one.toLowerCase()),
    description: String(edge.description ?? ""),
    metadata: String(edge.metadata ?? ""),
  };
}

/** Returns the service that serves the host. Names win over wildcards, and the longest wildcard wins. */
export function serviceOf(
  services: readonly Service[],
  schemes: readonly string[],
  host: string,
  port?: string,
): Service | undefined {
  let best: { readonly length: number; readonly service: Service } | undefined;
  for (const service of services) {
    if (!schemes.includes(service.scheme)) continue;
    for (const address of service.addresses) {
      const colon = address.lastIndexOf(":");
      const [name, own] = [address.slice(0, colon), address.slice(colon + 1)];
      if (port !== undefined && own !== port) continue;
      const length = name === host ? Infinity : name.startsWith("*.") && host.endsWith(name.slice(1)) ? name.length : 0;
      if (length > (best?.length ?? 0)) best = { length, service };
    }
  }
  return best?.service;
}
