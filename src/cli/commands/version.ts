import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";
import { isKnownBadNode } from "../process/known-bad-node.ts";
import { posternCommit, posternVersion } from "../process/version.ts";
import { settings } from "../../settings/settings.ts";

export const version = defineCommand({
  name: "version",
  doc: "Print the version of Postern, and of the Node that runs it. `--json` adds the commit and whether this Node lacks known security fixes.",
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
    const inFull = (): object => ({
      ...shown,
      commit: posternCommit() ?? null,
      node_known_bad: isKnownBadNode(shown.node),
    });
    process.stdout.write(
      json ? `${JSON.stringify(inFull())}\n` : `postern ${shown.version} (node ${shown.node}, ${shown.platform})\n`,
    );
    return Promise.resolve(exitCodes.fine);
  },
});
