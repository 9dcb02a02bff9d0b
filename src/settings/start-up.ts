/** Read only while the platform starts. */
import { logLevels } from "../lib/log.ts";
import { maxTokenBytes } from "../lib/tokens.ts";
import { countKind } from "./kinds/number.ts";
import { chosenSecret, namedText, oneOf } from "./kinds/text.ts";
import { one, optional } from "./setting.ts";

/** Values that an operator chooses instead of random ones have at least 160 bits in base 64 (K5). */
const lengths = { least: 27, most: maxTokenBytes };

export const firstSecretSettings = {
  bootstrapApiKey: optional(
    "Value of the first API key, instead of a random one. Each database creates a value only once: a deleted key stays deleted.",
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
    "Keys that encrypt stored secrets, 32 bytes in base64 each, newest first (default: the first start creates one in the data directory).",
    namedText("KEY"),
    { secret: true },
  ),
} as const;

export const planeSettings = {
  edges: optional(
    "Threads for traffic, all on the same ports. The system distributes connections among them.",
    countKind("NUMBER", 1, 64),
    { shownDefault: "one less than the number of cores; 1 for dev, and on macOS and Windows" },
  ),
  captureMaxBytes: one(
    "Maximum bytes of captured requests on this server's disk. Beyond it, the account with the most loses its oldest ones.",
    countKind("BYTES", 1_000_000, 2 ** 50),
    { default: 1_073_741_824 },
  ),
  watchdogSeconds: one(
    "Restart a thread that does not respond for this long, and log the code that it was executing. 0 disables the watchdog.",
    countKind("SECONDS", 0, 3600),
    { default: "10" },
  ),
} as const;

export const logSettings = {
  logLevel: one("Minimum level of log lines.", oneOf(logLevels), { default: "info" }),
  logFormat: optional("Format of log lines.", oneOf(["text", "json"]), {
    shownDefault: "text on a terminal, json otherwise",
  }),
} as const;
