import { setTimeout as delay } from "node:timers/promises";
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { settings } from "../../settings/settings.ts";
import { filterOf, filterSettings } from "../inbox/inbox-filter.ts";
import { messageLine } from "../inbox/print-messages.ts";
import { waitForSignal } from "../process/signals.ts";

const pollMs = 1_000;
/** Number of the newest messages in which each poll looks for news. */
const looked = 100;

export const inboxTail = defineCommand({
  name: "inbox tail",
  doc: "Print webhooks as inboxes receive them, and each change of their state, until you stop the command.",
  operands: "",
  least: 0,
  most: 0,
  settings: { ...apiSettings, ...filterSettings, json: settings.json },
  examples: ["postern inbox tail", "postern inbox tail --provider stripe --json"],
  async run({ json, ...values }) {
    const api = await openApi(values);
    const filter = filterOf(values);
    const stopped = waitForSignal();
    let shown: Map<string, string> | undefined;
    for (;;) {
      const page = await api.inboxMessages
        .list({ ...filter, limit: looked })
        .page()
        .catch((error: unknown) => {
          throw apiFailure(error);
        });
      const now = new Map(page.items.map((message) => [message.id, `${message.state} ${message.attempts}`]));
      for (const message of page.items.toReversed()) {
        if (shown === undefined || shown.get(message.id) === now.get(message.id)) continue;
        process.stdout.write(json ? `${JSON.stringify(message)}\n` : messageLine(message));
      }
      shown = now;
      const code = await Promise.race([stopped, delay(pollMs)]);
      if (code !== undefined) return code;
    }
  },
});
