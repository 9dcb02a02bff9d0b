/** Read by the commands that run an agent, in addition to the settings of its tunnels. */
import { duration, hostAllowed, inspectorAddress, keptBytes, proxyUrl, yesOrNo } from "./kinds/agents.ts";
import { ipAddress } from "./kinds/address.ts";
import { countKind } from "./kinds/number.ts";
import { namedText, oneOf, text } from "./kinds/text.ts";
import { many, one, optional, toggle } from "./setting.ts";

export const agentSettings = {
  server: optional(
    "Address of the server's agent listener (default: the local server's). If you give several, separated by commas, the agent tries them in turn.",
    namedText("HOST:PORT"),
  ),
  connections: optional(
    "Number of parallel sessions with the server (default: one for each edge, at most 4). With several servers, the sessions start at each server in turn.",
    countKind("sessions", 1, 16),
  ),
  ca: optional(
    "PEM file with the CA that signs the server's certificate, or `system` for the system's CAs. Default: the local server's CA if the command uses its address, else the system's.",
    namedText("FILE"),
  ),
  authtoken: optional("Agent token (default: the local server's).", namedText("TOKEN"), {
    flag: "token",
    secret: true,
    also: ["authtoken"],
  }),
  sessionMetadata: optional("Free text that the server shows with the agent's session.", text),
  proxy: optional(
    "Proxy for the connection to the server, http:// or socks5://, or none for a direct connection (default: HTTPS_PROXY or ALL_PROXY, unless NO_PROXY lists the server).",
    { placeholder: "URL|none", parse: (given) => (given === "none" ? given : proxyUrl.parse(given)) },
    { secret: true },
  ),
  dnsServer: many(
    "Address of a name server that resolves the server's host name; repeatable (default: the system's).",
    ipAddress,
  ),
  connectTimeout: one("Maximum time to connect to the server.", duration, { default: "10s" }),
  heartbeatInterval: one("Interval between the agent's heartbeats to the server.", duration, { default: "10s" }),
  heartbeatTolerance: one("Maximum time to wait for the server's answer to a heartbeat.", duration, { default: "15s" }),
  giveUpAfter: optional(
    "Exit with code 4 when the agent has had no session for this long (default: retry forever).",
    duration,
  ),
  remoteManagement: one(
    "Allow the server to stop or reconnect the agent, read captured requests from the inspector, and replay them.",
    yesOrNo,
    {
      default: "true",
    },
  ),
  requireUpstream: toggle(
    "Exit with code 6 if the service is not reachable at start. Without this setting, the agent prints a warning and publishes the URL.",
  ),
  log: one(
    "Destination of the log: stderr, stdout, false for no log, or a file.",
    namedText("stderr|stdout|false|FILE"),
    {
      default: "stderr",
    },
  ),
  inspector: optional(
    "Address of the inspector's local API, on the loopback interface unless you give a host (default: 127.0.0.1:4040, or the next free port).",
    inspectorAddress,
  ),
  inspectorHost: many(
    "Name, .suffix, address or network that the local API accepts as Host, in addition to localhost and its own address; repeatable.",
    hostAllowed,
  ),
  inspectDbSize: one(
    "Maximum memory in bytes for captured requests. 0 means the default of 64 MiB, -1 captures nothing.",
    keptBytes,
    { default: "0" },
  ),
  screen: one("Show a live screen on a terminal.", oneOf(["auto", "off"]), { default: "auto" }),
} as const;
