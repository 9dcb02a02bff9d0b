/** Read by both planes. */
import { nameServer, portRange } from "./kinds/address.ts";
import { namedText, oneOf } from "./kinds/text.ts";
import { many, one, toggle } from "./setting.ts";
import type { ValuesOf } from "./setting.ts";

export const bothPlanesSettings = {
  tcpPorts: one(
    "Range of ports for tcp tunnels and reserved addresses. Accounts can use only these ports; other ports need an operator's key.",
    portRange,
    { default: "20000-29999" },
  ),
  allowLocalUpstreams: toggle(
    "Allow local targets: static backends on loopback and link-local addresses, events to any address, and identity providers over http.",
  ),
  nameServer: many(
    "Name server that resolves the host names of backends, identity providers, webhooks and other outgoing requests; repeatable. Default: the servers and search domains in /etc/resolv.conf. The hosts file always comes first.",
    nameServer,
  ),
  region: one("Region of this server, shown with agents and servers.", namedText("NAME"), {
    default: "local",
  }),
  requireDomainProof: one(
    "How accounts prove that they own a host name outside the server's domain: with a TXT record, or only with the operator's approval.",
    oneOf(["none", "dns", "operator"]),
    { default: "none" },
  ),
} as const;

/** `dns`: verified by a TXT record. `operator`: approved by the operator, whose approval always counts. */
export type DomainProof = ValuesOf<typeof bothPlanesSettings>["requireDomainProof"];
