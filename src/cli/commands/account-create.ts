import { toVisibleLine } from "../../lib/visible-text.ts";
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";
import { settings } from "../../settings/settings.ts";

export const accountCreate = defineCommand({
  name: "account create",
  doc: "Create an account with an API key and an agent token, which are shown only once. Accounts cannot see each other. Needs an operator's key, such as the key from the server's first start.",
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
        : `Account ${toVisibleLine(account.name)} (${account.id})\n\n  API key       ${account.api_key}\n  Agent token   ${account.authtoken}\n\nStore both now: they are not shown again.\n`,
    );
    return exitCodes.fine;
  },
});
