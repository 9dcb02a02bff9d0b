import { renderYaml } from "../../lib/yaml.ts";
import type { JsonObject } from "../../lib/json.ts";
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";
import { settings } from "../../settings/settings.ts";

export const exportCommand = defineCommand({
  name: "export",
  doc: "Write the account's objects down as a document, in YAML: applied, it changes nothing. Secrets are left out in a form that leaves them as they are.",
  operands: "",
  least: 0,
  most: 0,
  settings: { ...apiSettings, document: settings.document, json: settings.json },
  examples: ["postern export > everything.yaml", "postern export --document shop"],
  async run({ document, json, ...api }) {
    const exported = await (
      await openApi(api)
    )
      .export(document === undefined ? {} : { document })
      .catch((error: unknown) => {
        throw apiFailure(error);
      });
    process.stdout.write(json ? `${JSON.stringify(exported)}\n` : renderYaml(exported as unknown as JsonObject));
    return exitCodes.fine;
  },
});
