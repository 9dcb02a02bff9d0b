/** Options of `postern http` for an inbox. */
import { flagOnly, many, toggle } from "../../settings/setting.ts";
import type { ValuesOf } from "../../settings/setting.ts";
import { parseInboxWebhook } from "./agent-inbox.ts";

export const agentInboxSettings = {
  inbox: flagOnly(
    toggle(
      "Keep the URL reachable for webhooks while this agent is offline: the server stores them, and delivers them in order when the agent is back. Without --url, the URL stays the same for the token, the machine and the target.",
    ),
  ),
  inboxHold: flagOnly(toggle("Pause the deliveries at the start, until you press `d` or run `postern inbox resume`.")),
  inboxWebhook: many(
    "Webhook provider of a path, as PATH=PROVIDER:SECRET; repeatable, or one per line in a file. Other users of this machine can see the value of a flag: use the file or the variable.",
    { placeholder: "PATH=PROVIDER:SECRET", parse: parseInboxWebhook },
    { secret: true, needs: "inbox" },
  ),
} as const;

export type AgentInboxValues = Partial<ValuesOf<typeof agentInboxSettings>>;
