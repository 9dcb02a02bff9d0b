import { systemClock, formatTimestamp } from "../../lib/clock.ts";
import { duration } from "../../settings/kinds/agents.ts";
import { countKind } from "../../settings/kinds/number.ts";
import { text } from "../../settings/kinds/text.ts";
import { flagOnly, many, one, optional } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";

export const invite = defineCommand({
  name: "invite",
  doc: "Create a code with which other machines join this server as agents (`postern join CODE`). The code works for one machine and one hour by default. Each machine gets its own agent token.",
  operands: "",
  least: 0,
  most: 0,
  settings: {
    ...apiSettings,
    expires: flagOnly(one("Time until the code expires, at most 720h.", duration, { default: "1h" })),
    uses: flagOnly(
      one("Number of machines that can join with the code.", countKind("NUMBER", 1, 1000), { default: 1 }),
    ),
    acl: flagOnly(
      many("Name that the machines can bind, such as `bind:*.example.com`; repeatable. Without it: every name.", text),
    ),
    tokenExpires: flagOnly(optional("Time until the machines' agent tokens expire (default: never).", duration)),
    description: flagOnly(optional("Description of the invitation.", text)),
    metadata: flagOnly(optional("Metadata of the invitation and of the agent tokens.", text)),
    json: settings.json,
  },
  examples: ["postern invite", "postern invite --expires 24h --uses 5 --acl 'bind:*.dev.t.example.com'"],
  async run({ expires, uses, acl, tokenExpires, description, metadata, json, ...api }) {
    const at = (afterMs: number): string => formatTimestamp(systemClock.now() + afterMs);
    const asked = {
      uses,
      acl: [...acl],
      expires_at: at(expires),
      ...(tokenExpires !== undefined && { token_expires_at: at(tokenExpires) }),
      ...(description !== undefined && { description }),
      ...(metadata !== undefined && { metadata }),
    };
    const made = await (await openApi(api)).agentInvitations.create(asked).catch((error: unknown) => {
      throw apiFailure(error);
    });
    const command = `postern join ${made.code}`;
    const machines = uses === 1 ? "one machine" : `${uses} machines`;
    process.stdout.write(
      json
        ? `${JSON.stringify({ ...made, command })}\n`
        : `Run this on the other machine:\n\n  ${command}\n\nThe code works for ${machines} until ${made.expires_at}. It is not shown again.\n`,
    );
    return exitCodes.fine;
  },
});
