import { renderYaml } from "../../lib/yaml.ts";
import type { JsonObject } from "../../lib/json.ts";
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";
import { flagOnly, toggle } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";

export const exportCommand = defineCommand({
  name: "export",
  doc: "Write the account's objects to a document in YAML. Applying this document changes nothing. Placeholders replace secrets and values that contain one. Applying a placeholder keeps the stored secret.",
  operands: "",
  least: 0,
  most: 0,
  settings: {
    ...apiSettings,
    document: settings.document,
    secrets: flagOnly(toggle("Include the secrets that the API key may read.")),
    json: settings.json,
  },
  examples: ["postern export > everything.yaml", "postern export --document shop"],
  async run({ document, secrets, json, ...api }) {
    const exported = await (
      await openApi(api)
    )
      .export({ ...(document !== undefined && { document }), ...(secrets && { secrets }) })
      .catch((error: unknown) => {
        throw apiFailure(error);
      });
    process.stdout.write(json ? `${JSON.stringify(exported)}\n` : renderYaml(exported as unknown as JsonObject));
    return exitCodes.fine;
  },
});
