/** Runs the thread of SSH clients, if the operator wants one. */
import type { PlatformSettings } from "../../settings/settings.ts";
import type { PeerRoom } from "./peer-room.ts";
import { hostKeyOf, hostKeyTexts } from "../ssh/host-key.ts";
import { hostKeyProblem } from "../ssh/host-key-problem.ts";
import type { SshPorts, SshThreadOptions } from "./threads/ssh.ts";
import { superviseThread } from "./threads/supervise.ts";
import type { Supervised, ThreadPlan } from "./threads/supervise.ts";
import type { ServerProblem } from "./threads/thread-messages.ts";

export interface SshServiceOptions extends Pick<
  ThreadPlan<unknown, unknown>,
  "log" | "logForm" | "clock" | "watchSeconds"
> {
  readonly settings: PlatformSettings;
  readonly version: string;
  readonly tunnelSecret: Uint8Array;
  readonly room: PeerRoom;
  /** Number of edges of this server. */
  readonly edges: number;
  readonly problem: (problem: ServerProblem) => void;
}

/** Returns undefined without an SSH listener. Throws `Failure` (usage) if the host key cannot be used. */
export function startSshService(options: SshServiceOptions): Supervised<SshPorts> | undefined {
  const { settings, version, tunnelSecret, room, edges, log, logForm, clock, watchSeconds, problem } = options;
  const { sshListen, domain } = settings;
  if (!sshListen) return undefined;
  const hostKey = hostKeyTexts(settings, tunnelSecret);
  const message = hostKeyProblem(settings.data, hostKeyOf(hostKey), clock.now());
  if (message !== undefined) log.warn("ssh host key", { problem: message });
  problem({ part: "ssh_host_key", message });
  const paths = Array.from({ length: edges }, (_one, at) => room.gatewayPath(at));
  return superviseThread<SshThreadOptions, SshPorts>({
    log,
    logForm,
    clock,
    watchSeconds,
    name: "ssh",
    file: new URL("./threads/ssh.ts", import.meta.url),
    lines: () => [],
    ready: () => problem({ part: "ssh_listen", message: undefined }),
    failed: (text) => problem({ part: "ssh_listen", message: `SSH clients cannot connect: ${text}` }),
    options: (ports) => ({
      // A restarted thread listens on its previous port, also if it was chosen automatically.
      listen: { ...sshListen, port: ports?.sshPort ?? sshListen.port },
      hostKey,
      tunnelSecret,
      serverVersion: version,
      domain,
      edges: paths,
    }),
  });
}
