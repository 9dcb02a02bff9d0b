/** Tunnels as the agent's local API tells of them, and what it is asked to send again. */
import { fieldOf } from "../exchange/model.ts";
import type { Exchange, Headers } from "../exchange/model.ts";
import { visitedUrl } from "../ui/visited-url.ts";

export interface Tunnel {
  readonly name: string;
  readonly public_url: string;
  /** `signs`: the provider whose webhooks are signed anew where they are replayed. */
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

/** The URL that a visitor asked for. */
export function urlOf({ request, tunnel_name }: Exchange, tunnels: readonly Tunnel[]): string {
  const tunnel = tunnels.find(({ name }) => name === tunnel_name);
  const host = fieldOf(request.headers, "host");
  const base = tunnel?.public_url ? visitedUrl(tunnel.public_url, host) : `https://${host ?? "localhost"}`;
  return base.replace(/\/$/, "") + request.uri;
}
