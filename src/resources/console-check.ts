import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

const milliseconds = { min: 0, max: Number.MAX_SAFE_INTEGER } as const;

export const consoleCheck = defineResource({
  name: "console_check",
  schemaName: "ConsoleCheck",
  path: "/console_checks",
  listKey: "console_checks",
  idPrefix: "conk",
  doc: "The last identity data of a console user from the team's identity provider, and the tokens to refresh it.",
  fields: {
    session: f.ref("The user.", { to: "console_session", input: "session_id" }, { required: true, immutable: true }),
    identity: f.string("The identity data, as JSON.", { internal: true, maxBytes: 65_536 }),
    tokens: f.string("The provider's tokens, as JSON.", { internal: true, secret: true, maxBytes: 65_536 }),
    asked_at: f.number("Time of the last request to the provider, in milliseconds since 1970.", {
      internal: true,
      ...milliseconds,
    }),
    checked_at: f.number("Time of the last answer from the provider, in milliseconds since 1970.", {
      internal: true,
      ...milliseconds,
    }),
  },
  internal: true,
  unrecorded: true,
  ownedBy: { kind: "console_session", field: "session_id" },
});
