import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { settings } from "../../settings/settings.ts";
import { filterOf, filterSettings } from "../inbox/inbox-filter.ts";
import { messageLine } from "../inbox/print-messages.ts";
import { exitCodes } from "../process/exit.ts";
import { countKind } from "../../settings/kinds/number.ts";
import { flagOnly, one } from "../../settings/setting.ts";

export const inboxList = defineCommand({
  name: "inbox list",
  doc: "List the webhooks in inboxes, newest first.",
  operands: "",
  least: 0,
  most: 0,
  settings: {
    ...apiSettings,
    ...filterSettings,
    limit: flagOnly(one("Maximum number of messages.", countKind("NUMBER", 1, 10_000), { default: 50 })),
    json: settings.json,
  },
  examples: ["postern inbox list", "postern inbox list --state dead --provider github"],
  async run({ limit, json, ...values }) {
    const api = await openApi(values);
    let left = limit;
    try {
      for await (const message of api.inboxMessages.list({ ...filterOf(values), limit: Math.min(limit, 100) })) {
        process.stdout.write(json ? `${JSON.stringify(message)}\n` : messageLine(message));
        left -= 1;
        if (left === 0) break;
      }
    } catch (error) {
      throw apiFailure(error);
    }
    return exitCodes.fine;
  },
});
