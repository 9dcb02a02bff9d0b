import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { settings } from "../../settings/settings.ts";
import { listOptionsOf, requestFilter } from "../requests/request-filter.ts";
import { warnIncomplete, requestLine } from "../requests/print-requests.ts";
import { exitCodes } from "../process/exit.ts";
import { countKind } from "../../settings/kinds/number.ts";
import { flagOnly, one } from "../../settings/setting.ts";

export const requestsList = defineCommand({
  name: "requests list",
  doc: "List requests, newest first: recent ones, and captured ones of all nodes.",
  operands: "",
  least: 0,
  most: 0,
  settings: {
    ...apiSettings,
    ...requestFilter,
    limit: flagOnly(one("Maximum number of requests.", countKind("NUMBER", 1, 100_000), { default: 50 })),
    json: settings.json,
  },
  examples: ["postern requests list", "postern requests list --since 2h --status 403 --path '/admin*' --json"],
  async run({ limit, json, ...values }) {
    const api = await openApi(values);
    let left = limit;
    try {
      for await (const page of api.requests.list({ ...listOptionsOf(values), limit: Math.min(limit, 100) }).pages()) {
        for (const request of page.items.slice(0, left)) {
          process.stdout.write(json ? `${JSON.stringify(request)}\n` : requestLine(request));
        }
        left -= page.items.length;
        if (left <= 0) break;
        // A search that took too long continues on the next page.
        if (page.incomplete?.reason !== "time") process.stderr.write(warnIncomplete(page));
      }
    } catch (error) {
      throw apiFailure(error);
    }
    return exitCodes.fine;
  },
});
