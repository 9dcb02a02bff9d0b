/** Read by the commands that run an agent, besides what its tunnels ask for. */
import { duration, hostAllowed, inspectorAddress, keptBytes, proxyUrl, yesOrNo } from "./kinds/agents.ts";
import { ipAddress } from "./kinds/address.ts";
import { count } from "./kinds/number.ts";
import { named, oneOf, text } from "./kinds/text.ts";
import { many, one, optional, toggle } from "./setting.ts";

export const agentSettings = {
  server: optional(
    "The server's agent listener (default: the local server's). Several, with commas between them, are tried in turn.",
    named("HOST:PORT"),
  ),
  connections: optional(
    "Sessions with the server at once (default: one for each of its edges, at most 4). With several servers they begin at each in turn.",
    count("sessions", 1, 16),
  ),
  ca: optional(
    "PEM file with the CA that the server must be certified by; `system` for the system's (default: the local server's, where its address is used too; else the system's).",
    named("FILE"),
  ),
  authtoken: optional("Agent token (default: the local server's).", named("TOKEN"), {
    flag: "token",
    secret: true,
    also: ["authtoken"],
  }),
  sessionMetadata: optional("Free text shown with the agent's session.", text),
  proxy: optional(
    "Proxy on the way to the server, http:// or socks5:// (default: HTTPS_PROXY or ALL_PROXY, unless NO_PROXY names the server); none for no proxy.",
    { placeholder: "URL|none", parse: (given) => (given === "none" ? given : proxyUrl.parse(given)) },
    { secret: true },
  ),
  dnsServer: many(
    "Address of a name server to look the server up with; repeatable (default: the system's).",
    ipAddress,
  ),
  connectTimeout: one("How long connecting to the server may take.", duration, { default: "10s" }),
  heartbeatInterval: one("How often the agent asks whether the server is still there.", duration, { default: "10s" }),
  heartbeatTolerance: one("How long the server may then be silent.", duration, { default: "15s" }),
  giveUpAfter: optional(
    "End with exit code 4 when there was no session for this long (default: try for ever).",
    duration,
  ),
  remoteManagement: one(
    "Whether the server may stop the agent, have it connect again, and ask for what the inspector has kept of requests, and for replays.",
    yesOrNo,
    {
      default: "true",
    },
  ),
  requireUpstream: toggle(
    "End with exit code 6 if the service cannot be reached at the start. Without it the URL is published all the same, with a warning.",
  ),
  log: one("Where the log goes: stderr, stdout, false for nowhere, or a file.", named("stderr|stdout|false|FILE"), {
    default: "stderr",
  }),
  inspector: optional(
    "Where the local API of the inspector listens, on the loopback unless a host is given (default: 127.0.0.1:4040, or the next free port).",
    inspectorAddress,
  ),
  inspectorHost: many(
    "Name, .suffix, address or network that a call of the local API may have as its Host, besides localhost and where it listens; repeatable.",
    hostAllowed,
  ),
  inspectDbSize: one(
    "Most bytes that the inspector keeps of requests; 0 for the usual 64 MiB, -1 to keep none.",
    keptBytes,
    { default: "0" },
  ),
  screen: one("Whether to draw a screen on a terminal.", oneOf(["auto", "off"]), { default: "auto" }),
} as const;
