/** Read by commands that use a server but do not run one. */
import { agentSettings } from "./agents.ts";
import { namedText, text, visibleKind } from "./kinds/text.ts";
import { optional, toggle } from "./setting.ts";
import { tunnelSettings } from "./tunnels.ts";

export const commandSettings = {
  config: optional("YAML file with settings, keys in snake_case.", namedText("FILE")),
  json: toggle("Print JSON."),

  apiKey: optional("API key for calls to the API (default: the local server's).", visibleKind("KEY"), { secret: true }),
  prune: toggle(
    "Delete objects that an earlier version of the document created and that are no longer in the document.",
  ),
  document: optional("Export only objects that this document created.", namedText("NAME")),
  reason: optional("Reason for the change, stored in the history.", text),

  ...tunnelSettings,
  ...agentSettings,
} as const;
