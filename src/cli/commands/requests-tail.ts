import { setTimeout as delay } from "node:timers/promises";
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { settings } from "../../settings/settings.ts";
import { listOptionsOf, requestFilter } from "../requests/request-filter.ts";
import { warnIncomplete, requestLine } from "../requests/print-requests.ts";
import { waitForSignal } from "../process/signals.ts";

const pollMs = 1_000;
/** Number of requests in each poll. If more have ended since the last one, further pages follow. */
const pageSize = 100;
/** Maximum number of pages in a poll. */
const maxPages = 50;
/** Number of the shown requests whose ids are remembered. Requests that took long appear among earlier ones. */
const maxShown = 20_000;

export const requestsTail = defineCommand({
  name: "requests tail",
  doc: "Print requests as they end, until you stop the command: all captured ones, and a sample of others.",
  operands: "",
  least: 0,
  most: 0,
  settings: { ...apiSettings, ...requestFilter, json: settings.json },
  examples: ["postern requests tail", "postern requests tail --outcome denied --json"],
  async run({ json, ...values }) {
    const api = await openApi(values);
    const filter = listOptionsOf(values);
    const stopped = waitForSignal();
    const shown = new Set<string>();
    for (let isFirst = true; ; isFirst = false) {
      const fresh: string[] = [];
      let count = 0;
      try {
        for await (const page of api.requests.list({ ...filter, limit: pageSize }).pages()) {
          process.stderr.write(page.incomplete?.reason === "time" ? "" : warnIncomplete(page));
          const news = page.items.filter(({ id }) => !shown.has(id));
          for (const request of news) {
            shown.add(request.id);
            fresh.push(json ? `${JSON.stringify(request)}\n` : requestLine(request));
          }
          count += 1;
          if (isFirst || news.length < page.items.length || count >= maxPages) break;
        }
      } catch (error) {
        throw apiFailure(error);
      }
      if (!isFirst) process.stdout.write(fresh.toReversed().join(""));
      for (const id of shown) {
        if (shown.size <= maxShown) break;
        shown.delete(id);
      }
      const code = await Promise.race([stopped, delay(pollMs)]);
      if (code !== undefined) return code;
    }
  },
});
