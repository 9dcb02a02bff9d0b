/** Tunnels in the agent's local API, and replays through it. */
import { fieldOf } from "../exchange/model.ts";
import type { ShownExchange, Headers } from "../exchange/model.ts";
import { visitedUrl } from "../ui/visited-url.ts";

export interface Tunnel {
  readonly name: string;
  readonly public_url: string;
  /** `signs`: provider whose webhooks are signed again when they are replayed. */
  readonly config: { readonly addr: string; readonly inspect: boolean; readonly signs?: string };
}

export interface ReplayEdits {
  readonly method?: string;
  readonly uri?: string;
  readonly headers?: Headers;
  /** Base64. */
  readonly body?: string;
  readonly tunnel_name?: string;
}

/** Returns the URL of the visitor's request. */
export function urlOf({ request, tunnel_name }: ShownExchange, tunnels: readonly Tunnel[]): string {
  const tunnel = tunnels.find(({ name }) => name === tunnel_name);
  const host = fieldOf(request.headers, "host");
  const base = tunnel?.public_url ? visitedUrl(tunnel.public_url, host) : `https://${host ?? "localhost"}`;
  return base.replace(/\/$/, "") + request.uri;
}
