import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { settings } from "../../settings/settings.ts";
import { exitCodes } from "../process/exit.ts";
import { flagOnly, toggle } from "../../settings/setting.ts";
import { renderObject } from "../terminal/text-table.ts";

export const inboxShow = defineCommand({
  name: "inbox show",
  doc: "Show a webhook of an inbox with its attempts. With --payload, also show its header fields and body.",
  operands: "ID",
  least: 1,
  most: 1,
  settings: {
    ...apiSettings,
    payload: flagOnly(toggle("Also show the header fields and the body. Limited keys need the scope `exchanges`.")),
    json: settings.json,
  },
  examples: ["postern inbox show inbox_0f6yvqk3c5a9m2x7p4r8t1w6z0b --payload"],
  async run({ payload, json, ...values }, [id = ""]) {
    const api = await openApi(values);
    try {
      const message = await api.inboxMessages.get(id);
      const shown = payload ? { ...message, payload: await api.inboxMessages.payload.get(id) } : message;
      process.stdout.write(
        `${json ? JSON.stringify(shown) : renderObject(shown as unknown as Record<string, unknown>)}\n`,
      );
    } catch (error) {
      throw apiFailure(error);
    }
    return exitCodes.fine;
  },
});
