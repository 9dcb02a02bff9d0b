import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const consoleCode = defineResource({
  name: "console_code",
  schemaName: "ConsoleCode",
  path: "/console_codes",
  listKey: "console_codes",
  idPrefix: "conc",
  doc: "A link that opens the console once, at any server with the same database.",
  fields: {
    api_key: f.ref("The API key for the login.", { to: "api_key", input: "api_key_id" }, { required: true }),
    code_hash: f.string("SHA-256 of the code.", { internal: true }),
    expires_at: f.timestamp("Time when the link expires."),
  },
  internal: true,
  unrecorded: true,
  claims: ({ code_hash }) => (code_hash === "" ? [] : [{ space: "console code", name: code_hash, global: true }]),
  ownedBy: { kind: "api_key", field: "api_key_id" },
});
