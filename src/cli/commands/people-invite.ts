import { systemClock, formatTimestamp } from "../../lib/clock.ts";
import { duration } from "../../settings/kinds/agents.ts";
import { oneOf } from "../../settings/kinds/text.ts";
import { flagOnly, one } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";
import { apiFailure, apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";

export const peopleInvite = defineCommand({
  name: "people invite",
  doc: "Create a link with which a person gets access to the console. The link works once. For a person who has access, it adds a passkey. So you can also invite yourself, as the first person.",
  operands: "EMAIL",
  least: 1,
  most: 1,
  settings: {
    ...apiSettings,
    role: flagOnly(
      one(
        "What the person may do: `viewer` reads, `editor` also changes services, `admin` also sees secrets and manages keys and people, `operator` also manages accounts.",
        oneOf(["viewer", "editor", "admin", "operator"]),
        { default: "viewer" },
      ),
    ),
    expires: flagOnly(one("Time until the link expires, at most 720h.", duration, { default: "72h" })),
    json: settings.json,
  },
  examples: ["postern people invite ann@example.com", "postern people invite ann@example.com --role admin"],
  async run({ role, expires, json, ...api }, [email = ""]) {
    const asked = { email, role, expires_at: formatTimestamp(systemClock.now() + expires) };
    const made = await (await openApi(api)).personInvitations.create(asked).catch((error: unknown) => {
      throw apiFailure(error);
    });
    process.stdout.write(
      json
        ? `${JSON.stringify(made)}\n`
        : `Send this link to ${made.email} (${made.role}):\n\n  ${made.url}\n\nIt works once, until ${made.expires_at}. It is not shown again.\n`,
    );
    return exitCodes.fine;
  },
});
