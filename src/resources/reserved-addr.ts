import { f, notes } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";
import { portOf } from "./tcp-edge.ts";

export const reservedAddr = defineResource({
  name: "reserved_addr",
  schemaName: "ReservedAddr",
  path: "/reserved_addrs",
  listKey: "reserved_addrs",
  idPrefix: "ra",
  doc: "A TCP address that only this account can use. Hostports of TCP edges reserve their addresses automatically.",
  fields: {
    ...notes,
    addr: f.string("Host and port, chosen by the server.", { readOnly: true, maxBytes: 260 }),
    region: f.string("Region of the address; empty: all regions.", { immutable: true }),
  },
  traffic: true,
  claims: ({ addr }) => [{ space: "address", name: portOf(addr), global: true }],
  taken: "hostport_held",
});
