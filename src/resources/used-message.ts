import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const usedMessage = defineResource({
  name: "used_message",
  schemaName: "UsedMessage",
  path: "/used_messages",
  listKey: "used_messages",
  idPrefix: "usedmsg",
  doc: "An identity provider's message that an edge has accepted. All edges reject a repetition.",
  fields: {
    key: f.string("SHA-256 of the message's identifier.", { required: true }),
    until: f.timestamp("Time when the message expires. After it, edges reject the message without this entry."),
  },
  claims: ({ key }) => [{ space: "used message", name: key }],
  internal: true,
  unrecorded: true,
});
