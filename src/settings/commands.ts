/** Read by commands that use a server instead of being one. */
import { agentSettings } from "./agents.ts";
import { named, text, visible } from "./kinds/text.ts";
import { optional, toggle } from "./setting.ts";
import { tunnelSettings } from "./tunnels.ts";

export const commandSettings = {
  config: optional("YAML file with settings, keys in snake_case.", named("FILE")),
  json: toggle("Print JSON."),

  apiKey: optional("API key to call the API with (default: the local server's).", visible("KEY"), { secret: true }),
  prune: toggle("Delete what the document made before and no longer has."),
  document: optional("Export only what this document has made.", named("NAME")),
  reason: optional("Why the change is made, for the history.", text),

  ...tunnelSettings,
  ...agentSettings,
} as const;
