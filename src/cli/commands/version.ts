import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";
import { posternVersion } from "../process/version.ts";
import { settings } from "../../settings/settings.ts";

export const version = defineCommand({
  name: "version",
  doc: "Print the versions of Postern and Node.",
  operands: "",
  least: 0,
  most: 0,
  settings: { json: settings.json },
  run({ json }) {
    const shown = {
      version: posternVersion(),
      node: process.versions.node,
      platform: `${process.platform}-${process.arch}`,
    };
    process.stdout.write(
      json ? `${JSON.stringify(shown)}\n` : `postern ${shown.version} (node ${shown.node}, ${shown.platform})\n`,
    );
    return Promise.resolve(exitCodes.fine);
  },
});
