/** Requests one tunnel from the server in one session. */
import type { BoundTunnel, ClientSession } from "../tunnel/client-hooks.ts";
import { placeOfUrl } from "./publication.ts";
import type { OpenIdLogin } from "./publication.ts";
import type { TunnelOptions } from "./tunnel-options.ts";

/** The address that the server generated for a tunnel without one. */
export type MadePlace = Pick<BoundTunnel, "hostname" | "address">;

/**
 * @param before what the server assigned to the tunnel in another session, or generated for it
 * @param opened runs in the turn of the answer, so that the tunnel is known before its first connection
 */
export async function bindTunnel(
  line: ClientSession,
  options: TunnelOptions,
  before: BoundTunnel | MadePlace | undefined,
  opened: (id: string, bound: BoundTunnel | undefined) => void,
): Promise<void> {
  const { upstream, metadata, publish, proxyProtocol = 0, wantsTimes = false } = options;
  const forwardsProto: "" | "http2" = upstream.http2 ? "http2" : "";
  const shown = { forwardsTo: upstream.text, forwardsProto, metadata, proxyProtocol, wantsTimes };
  if (publish.kind === "labels") {
    await line.startLabelled({ ...shown, labels: publish.labels }, (id) => opened(id, undefined));
    return;
  }
  const { proto = "https", trafficPolicy, pooling = false, bindings, description } = options;
  const resumed = before && (proto === "tcp" ? { address: before.address } : { hostname: before.hostname });
  await line.bind(
    {
      ...shown,
      proto,
      pooling,
      ...(bindings && { bindings }),
      ...(description !== undefined && { description }),
      ...(trafficPolicy !== undefined && { trafficPolicy }),
      ...(resumed ?? placeOf(publish, proto)),
      options: { ...options.options, ...(publish.login && { OIDC: oidcOption(publish.login) }) },
      ...(before && "token" in before ? { resume: { id: before.id, token: before.token } } : {}),
    },
    (bound) => opened(bound.id, bound),
  );
}

/** Whether the server generates the tunnel's address. */
export function isMadeUp(publish: TunnelOptions["publish"]): boolean {
  return publish.kind === "url" && publish.url === undefined && publish.subdomain === undefined;
}

function placeOf(
  { url, subdomain }: Extract<TunnelOptions["publish"], { kind: "url" }>,
  proto: NonNullable<TunnelOptions["proto"]>,
) {
  if (subdomain !== undefined) return { subdomain };
  return url === undefined ? {} : placeOfUrl(url, proto);
}

function oidcOption({ issuer, clientId, clientSecret, machineClients }: OpenIdLogin): object {
  const client = { client_id: clientId, client_secret: clientSecret };
  return { issuer_url: issuer, ...client, ...(machineClients && { machine_clients: machineClients }) };
}
