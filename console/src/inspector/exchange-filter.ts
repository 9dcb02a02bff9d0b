/** Filters the list of requests. */
import { msOf } from "../exchange/model.ts";
import type { ShownExchange } from "../exchange/model.ts";

export interface Filter {
  readonly method: string;
  /** A status such as `404`, or a class such as `4xx`. */
  readonly status: string;
  readonly path: string;
  readonly text: string;
  /** Minimum duration, milliseconds. */
  readonly slowerThan: number;
  readonly tunnel: string;
  /** A method of JSON-RPC, a space and a name: `tools/call search`. */
  readonly call: string;
}

export const emptyFilter: Filter = { method: "", status: "", path: "", text: "", slowerThan: 0, tunnel: "", call: "" };

/** @param withText ids of the requests that contain the text, if a text is searched */
export function matchesFilter(
  exchange: ShownExchange,
  filter: Filter,
  withText: ReadonlySet<string> | undefined,
): boolean {
  const { request, response, duration, tunnel_name, id } = exchange;
  if (filter.method !== "" && request.method !== filter.method) return false;
  if (filter.call !== "" && !callsOf(exchange).includes(filter.call)) return false;
  if (filter.tunnel !== "" && tunnel_name !== filter.tunnel) return false;
  if (filter.path !== "" && !request.uri.toLowerCase().includes(filter.path.toLowerCase())) return false;
  if (filter.slowerThan > 0 && msOf(duration) < filter.slowerThan) return false;
  if (filter.text !== "" && withText && !withText.has(id)) return false;
  const status = String(response?.status_code ?? "");
  return filter.status === "" || new RegExp(`^${filter.status.replaceAll(/x/gi, "\\d")}`).test(status);
}

/** Returns the calls of a request as the filter names them: each method, and each method with its tool. */
export function callsOf({ rpc = [] }: ShownExchange): readonly string[] {
  return rpc.flatMap(({ method, name }) => {
    if (method === "") return [];
    return name === undefined ? [method] : [method, `${method} ${name}`];
  });
}
