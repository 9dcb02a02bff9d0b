import { visibleLine } from "../../lib/visible-text.ts";
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";
import { settings } from "../../settings/settings.ts";

export const accountCreate = defineCommand({
  name: "account create",
  doc: "Create an account, with an API key and an agent token of its own, which are shown once. Nothing of one account can be seen from another. It takes an operator's key: the one that the first start made.",
  operands: "NAME",
  least: 1,
  most: 1,
  settings: { ...apiSettings, json: settings.json },
  examples: ["postern account create team-a"],
  async run({ json, ...api }, [name = ""]) {
    const account = await (await openApi(api)).accounts.create({ name }).catch((error: unknown) => {
      throw apiFailure(error);
    });
    process.stdout.write(
      json
        ? `${JSON.stringify(account)}\n`
        : `Account ${visibleLine(account.name)} (${account.id})\n\n  API key       ${account.api_key}\n  Agent token   ${account.authtoken}\n\nBoth are shown this once.\n`,
    );
    return exitCodes.fine;
  },
});
