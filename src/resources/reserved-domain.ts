import { f, notes } from "../schema/fields.ts";
import { domain } from "../schema/formats.ts";
import { defineResource } from "../schema/resource.ts";

export const reservedDomain = defineResource({
  name: "reserved_domain",
  schemaName: "ReservedDomain",
  path: "/reserved_domains",
  listKey: "reserved_domains",
  idPrefix: "rd",
  doc: "A host name that only this account may use. Hostports of edges reserve theirs by themselves.",
  fields: {
    ...notes,
    domain: f.string("The host name, or `*.` and one; unique on the server.", {
      required: true,
      immutable: true,
      alias: "name",
      format: domain,
    }),
    region: f.string("Where it is served; empty: everywhere.", { immutable: true }),
    cname_target: f.nullableString(
      "What a CNAME record of the domain should point to; null below the server's own domain.",
      {
        live: true,
      },
    ),
  },
  traffic: true,
  claims: ({ domain }) => [{ space: "domain", name: domain, global: true }],
  taken: "domain_held",
});
