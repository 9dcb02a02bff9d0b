/** Operation that creates a one-time login link to the console. */
import { formatTimestamp } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { apiKey } from "../../resources/api-key.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { Operation } from "../operation/call.ts";
import { exampleBaseUrl } from "../objects/example-replies.ts";
import type { Store } from "../../storage/store.ts";
import type { Codes } from "./codes.ts";

const schema: JsonSchema = {
  type: "object",
  description: "A link to the console.",
  properties: {
    url: {
      type: "string",
      description: "Open this URL in a browser. It logs in once, with the permissions of the API key.",
    },
    expires_at: { type: "string", format: "date-time", description: "Time when the link expires." },
  },
  required: ["url", "expires_at"],
  additionalProperties: false,
};

/** @param codes undefined if the console is off */
export function consoleLinkOperation(codes: Codes | undefined, store: Pick<Store, "revision" | "get">): Operation {
  return {
    id: "createConsoleLink",
    method: "POST",
    path: "/console_links",
    summary: "Create a link that logs in to the console once, within 15 minutes, with the permissions of the API key.",
    takes: "nothing",
    // The session has no more access than the key, so keys with few scopes may create links.
    reads: true,
    status: 200,
    refusals: ["console_off", "console_link_keyless"],
    replySchema: "ConsoleLink",
    schemas: { ConsoleLink: schema },
    exampleReply: { url: `${exampleBaseUrl}/#code=CODE`, expires_at: "2026-01-01T00:15:00Z" },
    async run(call) {
      if (!codes) throw new Refusal("console_off");
      const { accountId, id } = call.principal;
      // Users of the identity provider have no API key.
      if (!store.get(accountId, apiKey.name, id)) throw new Refusal("console_link_keyless");
      const { code, expiresAtMs } = await codes.make(accountId, id);
      // The fragment is not sent to servers and appears in no log.
      const body = { url: `${call.baseUrl}/#code=${code}`, expires_at: formatTimestamp(expiresAtMs) };
      return { status: 200, body: JSON.stringify(body), revision: store.revision };
    },
  };
}
