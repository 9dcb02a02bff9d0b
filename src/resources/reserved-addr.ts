import { f, notes } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";
import { portOf } from "./tcp-edge.ts";

export const reservedAddr = defineResource({
  name: "reserved_addr",
  schemaName: "ReservedAddr",
  path: "/reserved_addrs",
  listKey: "reserved_addrs",
  idPrefix: "ra",
  doc: "A TCP address that only this account may use. Hostports of TCP edges reserve theirs by themselves.",
  fields: {
    ...notes,
    addr: f.string("Host and port, chosen by the server.", { readOnly: true, maxBytes: 260 }),
    region: f.string("Where it is served; empty: everywhere.", { immutable: true }),
  },
  traffic: true,
  claims: ({ addr }) => [{ space: "address", name: portOf(addr), global: true }],
  taken: "hostport_held",
});
