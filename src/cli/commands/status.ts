import { setTimeout as delay } from "node:timers/promises";
import type { Postern } from "../../../sdk/src/index.ts";
import { systemClock } from "../../lib/clock.ts";
import { toVisibleLine } from "../../lib/visible-text.ts";
import { flagOnly, toggle } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { findRunningServer } from "../data/local-server.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes, Failure } from "../process/exit.ts";
import { waitForSignal } from "../process/signals.ts";
import { collectState } from "../status/collect.ts";
import { judgeServer, worstLevel } from "../status/judge-server.ts";
import type { Check, Level } from "../status/judge-server.ts";
import { styleFor, writeDirectly } from "../terminal/guarded-output.ts";

const watchMs = 5_000;
const codes = { fine: exitCodes.fine, warning: exitCodes.warning, critical: exitCodes.unexpected } as const;
const marks = { fine: ["green", "✓"], warning: ["yellow", "!"], critical: ["red", "✗"] } as const;

export const status = defineCommand({
  name: "status",
  doc: "Show the state of the server on one screen: nodes, edges, database, certificates with days left, agents, problems, free disk space and the last failed request. For monitoring, exits with 0 if everything is fine, 1 if something is critical, 9 if there are only warnings, 3 if the API rejects the key, and 4 if the server does not answer.",
  operands: "",
  least: 0,
  most: 0,
  settings: {
    ...apiSettings,
    watch: flagOnly(toggle("Show the state again every 5 seconds, until you stop the command.")),
    json: settings.json,
  },
  examples: ["postern status", "postern status --json --api-url https://api.example.com", "postern status --watch"],
  async run({ watch, json, ...access }) {
    const directory = access.apiUrl === undefined ? access.data : undefined;
    if (directory !== undefined && !findRunningServer(directory)) {
      throw new Failure(
        "unreachable",
        `no server runs on "${directory}": start one, or set the API's address with --api-url`,
      );
    }
    const api = await openApi(access);
    const show = async (): Promise<Level> => {
      const checks = await checksOf(api, directory);
      const level = worstLevel(checks);
      if (watch && process.stdout.isTTY) writeDirectly(process.stdout, "\u001B[H\u001B[2J");
      process.stdout.write(json ? `${JSON.stringify({ level, checks })}\n` : renderChecks(checks));
      return level;
    };
    if (!watch) return codes[await show()];
    const stopped = waitForSignal();
    for (;;) {
      await show();
      const end = await Promise.race([stopped, delay(watchMs, undefined)]);
      if (end !== undefined) return end;
    }
  },
});

async function checksOf(api: Postern, directory: string | undefined): Promise<readonly Check[]> {
  try {
    return judgeServer(await collectState(api, directory), systemClock.now());
  } catch (error) {
    throw apiFailure(error);
  }
}

function renderChecks(checks: readonly Check[]): string {
  const width = Math.max(...checks.map(({ about }) => about.length)) + 2;
  return checks
    .map(({ about, level, message }, at) => {
      const [colour, mark] = marks[level];
      const label = checks[at - 1]?.about === about ? "" : about;
      return `${styleFor(colour, mark, process.stdout)} ${label.padEnd(width)}${toVisibleLine(message)}\n`;
    })
    .join("");
}
