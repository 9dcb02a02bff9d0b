import { resolve } from "node:path";
import { callApi } from "./api-call.ts";
import { defineCommand } from "./command.ts";
import { Failure, exitCodes } from "./exit.ts";
import { findServer, localApiKey } from "./local-server.ts";
import { settings } from "./settings.ts";

export const accountCreate = defineCommand({
  name: "account create",
  doc: "Create an account, with an API key and an agent token of its own, which are shown once. Nothing of one account can be seen from another. It takes an operator's key: the one that the first start made.",
  operands: "NAME",
  least: 1,
  most: 1,
  settings: {
    config: settings.config,
    data: settings.data,
    apiUrl: settings.apiUrl,
    apiKey: settings.apiKey,
    json: settings.json,
  },
  examples: ["postern account create team-a"],
  async run({ data, apiUrl, apiKey, json }, [name]) {
    const directory = resolve(data);
    const url = apiUrl ?? findServer(directory)?.apiUrl;
    if (url === undefined) {
      throw new Failure("usage", `no server runs on "${directory}": start one, or name its API with --api-url`);
    }
    const key = apiKey ?? localApiKey(directory);
    if (key === undefined) throw new Failure("usage", "no API key: give one with POSTERN_API_KEY or --api-key-file");
    const account = await callApi({ url, key }, "POST", "/accounts", { name });
    process.stdout.write(
      json
        ? `${JSON.stringify(account)}\n`
        : `Account ${String(account["name"])} (${String(account["id"])})\n\n  API key       ${String(account["api_key"])}\n  Agent token   ${String(account["authtoken"])}\n\nBoth are shown this once.\n`,
    );
    return exitCodes.fine;
  },
});
