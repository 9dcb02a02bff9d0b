import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { flagOnly, toggle } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { openInBrowser } from "../process/browser.ts";
import { exitCodes } from "../process/exit.ts";

const open = flagOnly(toggle("Also open the link in a browser on this machine."));

export const consoleCommand = defineCommand({
  name: "console",
  doc: "Print a link to the console, the API's web interface. The link works once, within 15 minutes, and has the permissions of the API key.",
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
      openInBrowser(keepLink(link.url), (why) => process.stderr.write(`postern: ${why}: open the link yourself\n`));
    }
    return exitCodes.fine;
  },
});

/**
 * Writes a page that redirects to the link and returns its path. The link logs in, and all users of the machine can
 * read the arguments of a process. The page of the previous call is removed: its link is used or will expire.
 */
function keepLink(url: string): string {
  const own = process.env["XDG_RUNTIME_DIR"];
  const directory = own?.startsWith("/") ? join(own, "postern") : mkdtempSync(join(tmpdir(), "postern-console-"));
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const page = join(directory, "console.html");
  rmSync(page, { force: true });
  const target = url.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
  writeFileSync(page, `<!doctype html><meta http-equiv="refresh" content="0; url=${target}">\n`, {
    mode: 0o600,
    flag: "wx",
  });
  return page;
}
