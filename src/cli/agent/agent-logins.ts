/** `postern http --sso`: runs a development identity provider beside the agent, for a server on the same machine. */
import type { AgentOptions } from "../../agent/agent-options.ts";
import type { TunnelOptions } from "../../agent/tunnel-options.ts";
import type { Publication } from "../../agent/publication.ts";
import type { Log } from "../../lib/log.ts";
import { oneOf } from "../../settings/kinds/text.ts";
import { flagOnly, optional } from "../../settings/setting.ts";
import { openProvider } from "../data/dev-url.ts";
import { findRunningServer } from "../data/local-server.ts";
import { readTrustedAuthorities } from "../data/trusted-authorities.ts";
import { ssoIssuers, startSsoProvider } from "../platform/dev-logins.ts";
import { Failure } from "../process/exit.ts";
import { machineClientsOf } from "../agent-files/tunnel-values.ts";
import type { TunnelValues } from "../agent-files/tunnel-values.ts";

export const agentSso = flagOnly(
  optional(
    "Require a login at a development identity provider that runs inside the agent (OpenID Connect). Visitors can choose any identity. Only for a server on this machine.",
    oneOf(["dev", "dev=oidc"]),
    { flag: "sso" },
  ),
);

export interface LocalProvider {
  /** Publication with a login at the provider. */
  readonly publish: Publication;
  stop(): Promise<void>;
}

/**
 * The provider listens on the loopback address, which the agent shares with the server and browser of the same machine
 * only.
 */
const onLoopback = /^http:\/\/127\.0\.0\.1:\d+$/;

/**
 * Starts a provider if the settings of the server in `directory` name it. Throws `Failure` (usage) for a different
 * server, or if the server's operator has not named such a provider.
 */
export async function startLocalProvider(
  { server, publish }: Pick<AgentOptions, "server"> & Pick<TunnelOptions, "publish">,
  values: TunnelValues & { readonly data: string },
  log: Log,
): Promise<LocalProvider> {
  const directory = values.data;
  if (publish.kind === "labels") {
    throw new Failure("usage", "--sso and --label exclude each other: configure the login on the edge instead");
  }
  const local = findRunningServer(directory);
  const address = `${server.host}:${server.port}`;
  if (local?.agentAddress !== address) {
    throw new Failure(
      "usage",
      `--sso dev needs the server on this machine that uses "${directory}" because the provider listens on the loopback address, but ${address} is a different server: set its directory with --data, publish with \`postern dev --sso dev\`, or use a provider that ${address} can reach`,
    );
  }
  const issuers = local.loginIssuers.filter((one) => onLoopback.test(one));
  if (issuers.length === 0) {
    throw new Failure(
      "usage",
      `--sso dev: this server does not call providers on its loopback address: start it with --login-issuer ${ssoIssuers[0]} to allow this provider, or use \`postern dev\`, which allows it`,
    );
  }
  const sso = await startSsoProvider(issuers, log, openProvider(directory));
  sso.serve({ origin: local.idpUrl, port: local.httpsPort, caPem: readTrustedAuthorities(undefined, directory) });
  log.info("visitors log in at a development identity provider", { url: sso.issuer });
  const { issuer, clientId, clientSecret } = sso;
  const { machine_clients: machineClients } = machineClientsOf(values);
  return { publish: { ...publish, login: { issuer, clientId, clientSecret, machineClients } }, stop: () => sso.stop() };
}
