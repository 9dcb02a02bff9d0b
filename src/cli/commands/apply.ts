import type { Document } from "../../../sdk/src/index.ts";
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { documentEnv, documentEnvFile, readDocumentFile } from "../api/document-file.ts";
import { renderPlan } from "../terminal/render-plan.ts";
import { exitCodes } from "../process/exit.ts";
import { namedText } from "../../settings/kinds/text.ts";
import { flagOnly, optional } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";

/** The command ends when every connected edge serves the changes, or after this time. */
const waitSeconds = 10;

export const apply = defineCommand({
  name: "apply",
  doc: "Change the account's objects to match a document. All changes apply together as one revision, or none.",
  operands: "FILE|-",
  least: 1,
  most: 1,
  settings: {
    ...apiSettings,
    env: documentEnv,
    envFile: documentEnvFile,
    prune: settings.prune,
    reason: settings.reason,
    plan: flagOnly(
      optional(
        "Make exactly the changes of the plan with this hash, which `postern plan` prints, or none.",
        namedText("HASH"),
      ),
    ),
    json: settings.json,
  },
  examples: [
    "postern apply shop.yaml",
    "postern apply shop.yaml --env GITHUB_SECRET",
    "postern apply --plan 0123456789abcdef0123456789abcdef shop.yaml",
    'postern apply --prune --reason "release 5" shop.yaml',
  ],
  async run({ env, envFile, prune, reason, plan, json, ...api }, [file = "-"]) {
    const read = readDocumentFile(file, process.env, { allowed: env, file: envFile });
    const document = (prune ? { ...read, prune } : read) as unknown as Document;
    const options = { waitSeconds, reason, ...(plan !== undefined && { plan }) };
    const applied = await (await openApi(api)).apply(document, options).catch((error: unknown) => {
      throw apiFailure(error);
    });
    process.stdout.write(json ? `${JSON.stringify(applied)}\n` : renderPlan(applied, process.stdout));
    return exitCodes.fine;
  },
});
