import { f } from "../schema/fields.ts";
import { hostport } from "../schema/formats.ts";

/** Hostports of an edge of any kind. A hostport has one holder on the whole server. */
export const hostportsField = f.list(
  "Hostports served by the edge; the port is the advertised one.",
  f.string("A host name (or `*.` and one) and a port.", { format: hostport }),
  { maxItems: 100, unique: true },
);

export function hostportClaims({ hostports }: { readonly hostports: readonly string[] }) {
  return hostports.map((name, index) => ({ space: "hostport", name, global: true, at: `hostports[${index}]` }));
}

/** Names by which hostports are reserved. */
export function hostportUses({ hostports }: { readonly hostports: readonly string[] }) {
  return hostports.map((hostport) => ({ space: "domain", name: hostport.slice(0, hostport.lastIndexOf(":")) }));
}

/** Reasons why a hostport is not available, besides another edge that holds it. */
export const hostportRefusals = ["domain_held", "domain_public", "domain_unproven", "domain_unreserved"] as const;
