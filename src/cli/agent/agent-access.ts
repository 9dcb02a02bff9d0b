/** How an agent gets in: which server, whom it trusts, and the token that it shows. */
import { parseServerAddress } from "../../agent/connect.ts";
import type { ServerAddress } from "../../agent/connect.ts";
import type { AgentOptions } from "../../agent/agent.ts";
import { findServer, localAuthtoken } from "../data/local-server.ts";
import { trustedAuthorities } from "../data/trusted-authorities.ts";
import { Failure, named } from "../process/exit.ts";
import type { ValuesOf } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";

export const accessSettings = {
  config: settings.config,
  server: settings.server,
  ca: settings.ca,
  authtoken: settings.authtoken,
  data: settings.data,
} as const;

/** Throws `Failure` (usage) where there is nothing to go by. */
export function agentAccess(
  values: Omit<ValuesOf<typeof accessSettings>, "config">,
): Pick<AgentOptions, "server" | "ca" | "token"> {
  const { data } = values;
  const local = values.server === undefined ? findServer(data) : undefined;
  const server = values.server ?? local?.agentAddress;
  if (server === undefined) {
    throw new Failure(
      "usage",
      `no server: name one with --server HOST:PORT, or start one here with \`postern serve\` (its data directory would be "${data}", see --data)`,
    );
  }
  const token = values.authtoken ?? localAuthtoken(data);
  if (token === undefined) {
    throw new Failure("usage", "no agent token: give one with POSTERN_AUTHTOKEN or --token-file");
  }
  return {
    ...named("--server", () => {
      const [first, ...otherServers] = server.split(",").map((one) => parseServerAddress(one.trim()));
      return { server: first as ServerAddress, otherServers };
    }),
    ca: trustedAuthorities(values.ca, data),
    token,
  };
}
