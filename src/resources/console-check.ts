import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

const milliseconds = { min: 0, max: Number.MAX_SAFE_INTEGER } as const;

export const consoleCheck = defineResource({
  name: "console_check",
  schemaName: "ConsoleCheck",
  path: "/console_checks",
  listKey: "console_checks",
  idPrefix: "conk",
  doc: "What the team's identity provider last said of somebody at the console, and what it is asked again with.",
  fields: {
    session: f.ref(
      "Whom it is about.",
      { to: "console_session", input: "session_id" },
      { required: true, immutable: true },
    ),
    identity: f.string("What it said, as JSON.", { internal: true, maxBytes: 65_536 }),
    tokens: f.string("The provider's tokens, as JSON.", { internal: true, secret: true, maxBytes: 65_536 }),
    asked_at: f.number("When it was last asked, milliseconds since 1970.", { internal: true, ...milliseconds }),
    checked_at: f.number("When it last answered, likewise.", { internal: true, ...milliseconds }),
  },
  internal: true,
  unrecorded: true,
  ownedBy: { kind: "console_session", field: "session_id" },
});
