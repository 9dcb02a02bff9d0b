import { f } from "../schema/fields.ts";
import { visibleName } from "../schema/formats.ts";
import { defineResource } from "../schema/resource.ts";

export const botUser = defineResource({
  name: "bot_user",
  schemaName: "BotUser",
  path: "/bot_users",
  listKey: "bot_users",
  idPrefix: "bot",
  doc: "An identity for a program. API keys and agent tokens of a bot user work only while the bot user is active.",
  fields: {
    name: f.string("Human-readable name identifying the bot; unique in the account.", {
      required: true,
      format: visibleName,
    }),
    active: f.boolean("Whether the bot is active.", { default: true }),
  },
  traffic: "referred",
  claims: ({ name }) => [{ space: "bot_user_name", name, at: "name" }],
  taken: "name_taken",
  aliases: [{ path: "/service_users", listKey: "service_users" }],
});
