/** Read by both planes. */
import { nameServer, portRange } from "./kinds/address.ts";
import { named, oneOf } from "./kinds/text.ts";
import { many, one, toggle } from "./setting.ts";
import type { ValuesOf } from "./setting.ts";

export const bothPlanesSettings = {
  tcpPorts: one(
    "Ports that tcp tunnels and reserved addresses are given, and that accounts may name. Other ports need an operator's key.",
    portRange,
    { default: "20000-29999" },
  ),
  allowLocalUpstreams: toggle(
    "Let static backends name loopback and link-local addresses of the server, events go to any address, and identity providers be reached over http.",
  ),
  nameServer: many(
    "Name server that resolves the host names of backends, identity providers, webhooks and other requests of the server; repeatable. Without one, the server uses those of /etc/resolv.conf with its search domains. The hosts file comes first in both cases.",
    nameServer,
  ),
  region: one("Where this server stands, as it is shown with agents and servers.", named("NAME"), {
    default: "local",
  }),
  requireDomainProof: one(
    "How accounts prove that host names outside of the server's domain are theirs: by a TXT record, or by the operator's word alone.",
    oneOf(["none", "dns", "operator"]),
    { default: "none" },
  ),
} as const;

/** `dns`: by a TXT record. `operator`: by the operator's word alone, which always counts. */
export type DomainProof = ValuesOf<typeof bothPlanesSettings>["requireDomainProof"];
