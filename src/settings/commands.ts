/** Read by commands that use a server instead of being one. */
import { proxyVersion } from "./kinds/number.ts";
import { named, oneOf, text, visible } from "./kinds/text.ts";
import { many, one, optional, toggle } from "./setting.ts";

export const commandSettings = {
  config: optional("YAML file with settings, keys in snake_case.", named("FILE")),
  json: toggle("Print JSON."),

  apiKey: optional("API key to call the API with (default: the local server's).", visible("KEY"), { secret: true }),
  prune: toggle("Delete what the document made before and no longer has."),
  document: optional("Export only what this document has made.", named("NAME")),
  reason: optional("Why the change is made, for the history.", text),

  url: optional(
    "Public URL to publish, e.g. https://app.example.com; it stays the same over reconnects.",
    named("URL"),
  ),
  label: many(
    "Label of a backend tunnel, name=value; repeatable. Publishes to the edges that ask for it.",
    named("NAME=VALUE"),
  ),
  trafficPolicyFile: optional(
    "File with the traffic policy of the URL, YAML or JSON; the server acts on it before the agent sees anything.",
    named("FILE"),
  ),
  pooling: toggle("Share the URL with other endpoints of the account that ask for it, too: one is chosen at random."),
  requireUpstream: toggle(
    "End with exit code 6 if the service cannot be reached at the start. Without it the URL is published all the same, with a warning.",
  ),
  proxyProtocol: one(
    "PROXY protocol header that the service wants before the bytes of each connection, with the client's address.",
    proxyVersion,
    { default: "none" },
  ),
  upstreamProtocol: one(
    "What the service speaks: with http2 it is asked in HTTP/2 with prior knowledge, as gRPC services want it, and requests are not shown.",
    oneOf(["http1", "http2"]),
    { default: "http1" },
  ),
  metadata: optional("Free text shown with the tunnel.", text),
  server: optional(
    "The server's agent listener (default: the local server's). Several, with commas between them, are tried in turn.",
    named("HOST:PORT"),
  ),
  ca: optional(
    "PEM file with the CA that the server must be certified by; `system` for the system's (default: the local server's, else the system's).",
    named("FILE"),
  ),
  authtoken: optional("Agent token (default: the local server's).", named("TOKEN"), { flag: "token", secret: true }),
} as const;
