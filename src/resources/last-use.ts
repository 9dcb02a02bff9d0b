import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const lastUse = defineResource({
  name: "last_use",
  schemaName: "LastUse",
  path: "/last_uses",
  listKey: "last_uses",
  idPrefix: "lastuse",
  doc: "When an API key, an agent token or a service token was last used.",
  fields: {
    used_id: f.string("Id of the key or token.", { required: true }),
    used_at: f.timestamp("Time of the use."),
  },
  claims: ({ used_id }) => [{ space: "last use", name: used_id }],
  internal: true,
  unrecorded: true,
});
