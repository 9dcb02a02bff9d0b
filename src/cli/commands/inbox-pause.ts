/** `postern inbox pause` and `postern inbox resume`. */
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";

function pauseCommand(verb: "pause" | "resume") {
  return defineCommand({
    name: `inbox ${verb}`,
    doc:
      verb === "pause"
        ? "Pause the deliveries of a route's inbox. The server still stores webhooks and answers the provider."
        : "Resume the deliveries of a route's inbox.",
    operands: "ROUTE",
    least: 1,
    most: 1,
    settings: apiSettings,
    examples: [`postern inbox ${verb} edghtsrt_0f6yvqk3c5a9m2x7p4r8t1w6z0b`],
    async run(values, [route = ""]) {
      const { inboxes } = await openApi(values);
      await (verb === "pause" ? inboxes.pause(route) : inboxes.resume(route)).catch((error: unknown) => {
        throw apiFailure(error);
      });
      return exitCodes.fine;
    },
  });
}

export const inboxPause = pauseCommand("pause");
export const inboxResume = pauseCommand("resume");
