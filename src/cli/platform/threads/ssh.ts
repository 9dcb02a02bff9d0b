/** The thread of SSH clients, which are agents to the edges. */
import { workerData } from "node:worker_threads";
import { systemClock } from "../../../lib/clock.ts";
import { makeAgentLinks } from "../../../ssh/gateway/agent-link.ts";
import { defaultSshLimits } from "../../../ssh/gateway/ssh-connection.ts";
import { startSshServer } from "../../../ssh/gateway/ssh-server.ts";
import type { ListenAddress } from "../../../settings/kinds/address.ts";
import { hostKeyOf } from "../../ssh/host-key.ts";
import type { HostKeyTexts } from "../../ssh/host-key.ts";
import { readSshWords, sshHelp } from "../../ssh/words.ts";
import { runThread } from "./run-thread.ts";
import type { ThreadData } from "./thread-messages.ts";

export interface SshThreadOptions {
  readonly listen: ListenAddress;
  readonly hostKey: HostKeyTexts;
  readonly tunnelSecret: Uint8Array;
  readonly serverVersion: string;
  readonly domain: string;
  /** Paths of the edges' sockets for this thread. */
  readonly edges: readonly string[];
}

export interface SshPorts {
  readonly sshPort: number;
  /** Fingerprint of the host key. */
  readonly sshHostKey: string;
}

const { options } = workerData as ThreadData<SshThreadOptions>;
/** Maximum number of connections, in total and from one address. */
const maxConnections = 2_000;
const maxPerAddress = 200;

await runThread<SshPorts, never, never>([], "continues", async (log) => {
  const { domain, edges, listen } = options;
  const clock = systemClock;
  const hostKey = hostKeyOf(options.hostKey);
  const server = await startSshServer({
    listen,
    clock,
    log,
    hostKey,
    domain,
    version: `SSH-2.0-Postern_${options.serverVersion.replaceAll(/[^0-9A-Za-z.]/g, "_")}`,
    limits: defaultSshLimits,
    rekey: undefined,
    openLink: makeAgentLinks({ clock, secret: options.tunnelSecret, edges }),
    readWords: (text) => readSshWords(text, domain),
    help: sshHelp(domain),
    maxConnections,
    maxPerAddress,
  });
  log.info("ssh listener", { port: server.port, hostKey: hostKey.fingerprint });
  return {
    ports: { sshPort: server.port, sshHostKey: hostKey.fingerprint },
    drain() {
      server.retire();
      return Promise.resolve();
    },
    stop() {
      server.stop("The server has stopped. Connect again.");
      return Promise.resolve();
    },
  };
});
