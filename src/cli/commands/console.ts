import { spawn } from "node:child_process";
import { flagOnly, toggle } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";

/** What opens a URL in the browser that the system prefers. */
const openers: Partial<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

const open = flagOnly(toggle("Open the link in a browser of this machine as well."));

export const consoleCommand = defineCommand({
  name: "console",
  doc: "Print a link to the console, the API's page for people. It logs in once, within 15 minutes, with what the API key may do.",
  operands: "",
  least: 0,
  most: 0,
  settings: { ...apiSettings, open, json: settings.json },
  examples: ["postern console", "postern console --open"],
  async run({ open: opens, json, ...api }) {
    const link = await (await openApi(api)).consoleLinks.create().catch((error: unknown) => {
      throw apiFailure(error);
    });
    process.stdout.write(json ? `${JSON.stringify(link)}\n` : `${link.url}\n`);
    if (opens) {
      const [command, ...args] = openers[process.platform] ?? ["xdg-open"];
      const browser = spawn(command, [...args, link.url], { stdio: "ignore", detached: true });
      browser.on("error", (error) =>
        process.stderr.write(`postern: no browser could be started (${error.message}): open the link yourself\n`),
      );
      browser.unref();
    }
    return exitCodes.fine;
  },
});
