/** Read while the platform starts, and by nothing that runs afterwards. */
import { logLevels } from "../lib/log.ts";
import { maxTokenBytes } from "../lib/tokens.ts";
import { count } from "./kinds/number.ts";
import { chosenSecret, named, oneOf } from "./kinds/text.ts";
import { one, optional } from "./setting.ts";

/** What an operator chooses instead of a random value has at least 160 bits in base 64 (K5). */
const lengths = { least: 27, most: maxTokenBytes };

export const firstSecretSettings = {
  bootstrapApiKey: optional(
    "Value of the first API key, instead of a random one. A database gets each value once: a key that was deleted is not created again.",
    chosenSecret("KEY", lengths),
    {
      secret: true,
    },
  ),
  bootstrapAuthtoken: optional(
    "Value of the first agent token, instead of a random one.",
    chosenSecret("TOKEN", lengths),
    { secret: true },
  ),
  sealingKey: optional(
    "Keys that stored secrets are sealed under, 32 bytes in base64 each, the newest first (default: one made by the first start, kept in the data directory).",
    named("KEY"),
    { secret: true },
  ),
} as const;

export const planeSettings = {
  edges: optional(
    "Threads that carry traffic, all on the same ports; each takes its share of the connections.",
    count("NUMBER", 1, 64),
    { shownDefault: "one less than there are cores; 1 for dev, and on macOS and Windows" },
  ),
  watchdogSeconds: one(
    "End a thread that has not answered for this long, log what it was executing, and start it again. 0 turns the watchdog off.",
    count("SECONDS", 0, 3600),
    { default: "10" },
  ),
} as const;

export const logSettings = {
  logLevel: one("Least level that is logged.", oneOf(logLevels), { default: "info" }),
  logFormat: optional("Form of the log lines.", oneOf(["text", "json"]), {
    shownDefault: "text on a terminal, json otherwise",
  }),
} as const;
