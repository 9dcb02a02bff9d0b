import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const usedMessage = defineResource({
  name: "used_message",
  schemaName: "UsedMessage",
  path: "/used_messages",
  listKey: "used_messages",
  idPrefix: "usedmsg",
  doc: "A message of an identity provider that was taken, and is not taken again by any edge.",
  fields: {
    key: f.string("SHA-256 of what it is known by.", { required: true }),
    until: f.timestamp("It is refused by itself from then on."),
  },
  claims: ({ key }) => [{ space: "used message", name: key }],
  internal: true,
  unrecorded: true,
});
