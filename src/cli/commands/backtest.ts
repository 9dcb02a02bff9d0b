import { setTimeout as pause } from "node:timers/promises";
import type { Backtest, BacktestRequest } from "../../../sdk/src/index.ts";
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { documentEnv, documentEnvFile, readDocumentFile } from "../api/document-file.ts";
import { renderBacktest } from "../terminal/render-backtest.ts";
import { Failure, exitCodes } from "../process/exit.ts";
import { duration } from "../../settings/kinds/agents.ts";
import { namedText } from "../../settings/kinds/text.ts";
import { flagOnly, many, one, optional, toggle } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";

const pollMs = 300;
const filters = ["outcome", "status_code", "module", "rule", "source_ip", "path", "user", "text"] as const;

export const backtest = defineCommand({
  name: "backtest",
  doc: "Try a document on captured requests: count which requests `postern apply` would newly deny, newly allow or treat differently. Nothing is sent or changed.",
  operands: "FILE|-",
  least: 1,
  most: 1,
  settings: {
    ...apiSettings,
    since: flagOnly(one("Try the requests of the last TIME, such as 1h.", duration, { default: "24h" })),
    until: flagOnly(optional("Skip the requests of the last TIME, such as 30m.", duration)),
    filter: flagOnly(
      many(`Try only requests with this property; repeatable. Names: ${filters.join(", ")}.`, namedText("NAME=VALUE")),
    ),
    exitCode: flagOnly(toggle("Exit with code 8 if a request would be newly denied or newly allowed.")),
    env: documentEnv,
    envFile: documentEnvFile,
    prune: settings.prune,
    json: settings.json,
  },
  examples: [
    "postern backtest shop.yaml",
    "postern backtest shop.yaml --since 1h --filter path=/admin* --exit-code",
    "postern backtest - --json < shop.yaml",
  ],
  async run({ since, until, filter, exitCode, env, envFile, prune, json, ...access }, [file = "-"]) {
    const document = readDocumentFile(file, process.env, { allowed: env, file: envFile });
    const now = Date.now();
    const request = {
      document: prune ? { ...document, prune } : document,
      since: new Date(now - since).toISOString(),
      until: new Date(now - (until ?? 0)).toISOString(),
      filter: filterOf(filter),
    } as unknown as BacktestRequest;
    const api = await openApi(access);
    const show = process.stderr.isTTY ? showProgress : (): void => {};
    const finish = async (): Promise<Backtest> => {
      let found = await api.backtests.create(request);
      while (found.status === "running") {
        show(found);
        await pause(pollMs);
        found = await api.backtests.get(found.id);
      }
      return found;
    };
    const found = await finish().catch((error: unknown) => {
      throw apiFailure(error);
    });
    if (process.stderr.isTTY) process.stderr.write("\r\u001b[K");
    if (found.status !== "completed") {
      throw new Failure("unexpected", `the backtest was ${found.status}: ${found.error ?? "start it again"}`);
    }
    process.stdout.write(json ? `${JSON.stringify(found)}\n` : renderBacktest(found, process.stdout));
    const { allowed_to_denied: denied, denied_to_allowed: allowed } = found.differences;
    return exitCode && denied + allowed > 0 ? exitCodes.accessChanges : exitCodes.fine;
  },
});

function showProgress({ tried, different }: Backtest): void {
  const counts = `${tried.toLocaleString("en")} requests tried, ${different.toLocaleString("en")} different`;
  process.stderr.write(`\r\u001b[K${counts} …`);
}

function filterOf(texts: readonly string[]): Readonly<Record<string, string | number>> | null {
  if (texts.length === 0) return null;
  return Object.fromEntries(
    texts.map((text) => {
      const equals = text.indexOf("=");
      const name = text.slice(0, Math.max(0, equals));
      if (!(filters as readonly string[]).includes(name)) {
        throw new Failure("usage", `--filter "${text}" must be NAME=VALUE with one of the names ${filters.join(", ")}`);
      }
      const value = text.slice(equals + 1);
      return [name, name === "status_code" ? Number(value) : value];
    }),
  );
}
