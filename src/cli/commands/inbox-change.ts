/** `postern inbox deliver` and `postern inbox discard`. */
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { settings } from "../../settings/settings.ts";
import { filterOf, filterSettings } from "../inbox/inbox-filter.ts";
import { Failure, exitCodes } from "../process/exit.ts";
import { flagOnly, toggle } from "../../settings/setting.ts";

const docs = {
  deliver: "Deliver webhooks now, also ones that have ended: those with these ids, or all that match the options.",
  discard: "Discard webhooks that are not delivered: those with these ids, or all that match the options.",
} as const;

function changeCommand(verb: "deliver" | "discard") {
  return defineCommand({
    name: `inbox ${verb}`,
    doc: docs[verb],
    operands: "[ID…]",
    least: 0,
    most: 1_000,
    settings: {
      ...apiSettings,
      ...filterSettings,
      dryRun: flagOnly(toggle("Only count the messages.")),
      json: settings.json,
    },
    examples: [`postern inbox ${verb} --state dead --dry-run`, `postern inbox ${verb} --state dead --provider github`],
    async run({ dryRun, json, ...values }, ids) {
      const filter = filterOf(values);
      const isFiltered = Object.keys(filter).length > 0;
      if (isFiltered === ids.length > 0) {
        throw new Failure("usage", `name the messages to ${verb}, or select them with options such as --state dead`);
      }
      const api = await openApi(values);
      const messages = api.inboxMessages;
      try {
        let count = ids.length;
        if (isFiltered) {
          const all = verb === "deliver" ? messages.deliverAll : messages.discardAll;
          ({ count } = await all.call(messages, { ...filter, dry_run: dryRun }));
        } else if (!dryRun) {
          for (const id of ids) await (verb === "deliver" ? messages.deliver(id) : messages.discard(id));
        }
        process.stdout.write(json ? `${JSON.stringify({ count, dry_run: dryRun })}\n` : `${sentence(count, dryRun)}\n`);
      } catch (error) {
        throw apiFailure(error);
      }
      return exitCodes.fine;
    },
  });

  function sentence(count: number, isDryRun: boolean): string {
    const counted = `${count} ${count === 1 ? "message" : "messages"}`;
    if (isDryRun) return `Would ${verb} ${counted}.`;
    return verb === "deliver" ? `Delivering ${counted}.` : `Discarded ${counted}.`;
  }
}

export const inboxDeliver = changeCommand("deliver");
export const inboxDiscard = changeCommand("discard");
