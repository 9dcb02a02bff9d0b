import type { Document } from "../../../sdk/src/index.ts";
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { documentEnv, documentEnvFile, readDocumentFile } from "../api/document-file.ts";
import { renderPlan } from "../terminal/render-plan.ts";
import { exitCodes } from "../process/exit.ts";
import { settings } from "../../settings/settings.ts";

export const plan = defineCommand({
  name: "plan",
  doc: "Print the changes that `postern apply` would make, field by field, without changing anything. Exits with code 8 if there are changes.",
  operands: "FILE|-",
  least: 1,
  most: 1,
  settings: { ...apiSettings, env: documentEnv, envFile: documentEnvFile, prune: settings.prune, json: settings.json },
  examples: ["postern plan shop.yaml", "postern plan --prune shop.yaml"],
  async run({ env, envFile, prune, json, ...api }, [file = "-"]) {
    const read = readDocumentFile(file, process.env, { allowed: env, file: envFile });
    const document = (prune ? { ...read, prune } : read) as unknown as Document;
    const planned = await (await openApi(api)).plan(document).catch((error: unknown) => {
      throw apiFailure(error);
    });
    process.stdout.write(json ? `${JSON.stringify(planned)}\n` : renderPlan(planned, process.stdout));
    const { create, update, delete: gone } = planned.summary;
    if (create + update + gone === 0) return exitCodes.fine;
    // Standard output contains only the plan.
    if (!json)
      process.stderr.write(`To make exactly these changes, add --plan ${planned.hash} to \`postern apply\`.\n`);
    return exitCodes.planHasChanges;
  },
});
