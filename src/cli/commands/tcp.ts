import { parseTcpUpstream } from "../../agent/upstream.ts";
import { agentSettings, publish } from "../agent/publish.ts";
import { defineCommand } from "../command/command.ts";
import { settings } from "../../settings/settings.ts";

export const tcp = defineCommand({
  name: "tcp",
  doc: "Publish a local TCP service, such as a database: at a port of the server that stays the same, or with --label behind the TCP and TLS edges that ask for it. With --url tcp://HOST:PORT at an address that the account has reserved.",
  operands: "PORT|HOST:PORT",
  least: 1,
  most: 1,
  settings: { ...agentSettings, proxyProtocol: settings.proxyProtocol },
  examples: [
    "postern tcp 5432",
    "postern tcp 5432 --url tcp://t.example.com:20432 --server t.example.com:4443",
    "postern tcp 5432 --label app=db --proxy-protocol 2",
  ],
  run: (values, [target = ""]) =>
    publish(values, target, {
      proto: "tcp",
      proxyProtocol: values.proxyProtocol,
      parse: (given) => parseTcpUpstream(given, "tcp"),
    }),
});
