/** A machine inside the machine, with its own network and mounts. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";

const tools = ["unshare", "nsenter", "setpriv", "ip", "mount"];

/** The `skip` option of a test that creates namespaces: false on Linux as root, otherwise the reason. */
export function skipWithoutNamespaces(): string | false {
  if (process.platform !== "linux") return "needs Linux";
  if (process.getuid?.() !== 0) return "needs root, to create namespaces";
  const missing = tools.filter((tool) => spawnSync("sh", ["-c", `command -v ${tool}`]).status !== 0);
  if (missing.length > 0) return `needs ${missing.join(" and ")} (apt-get install util-linux iproute2)`;
  const { status, stderr } = spawnSync("unshare", ["-m", "-n", "true"], { encoding: "utf8" });
  return status === 0 ? false : `needs namespaces, which this system refuses: ${stderr.trim()}`;
}

export interface Namespace {
  /** A shell line in which `"$@"` runs inside, for `startCommand`. */
  readonly wrap: string;
  stop(): Promise<void>;
}

/** @param setup shell commands that run first, inside */
export async function startNamespace(setup: readonly string[]): Promise<Namespace> {
  const script = ["set -e", ...setup, "echo ready", "exec cat"].join("\n");
  const holder = spawn("unshare", ["-m", "-n", "sh", "-c", script], { stdio: ["pipe", "pipe", "pipe"] });
  let errors = "";
  holder.stderr.on("data", (text) => (errors += String(text)));
  const ended = once(holder, "exit");
  const first = await Promise.race([once(holder.stdout, "data"), ended]);
  if (String(first[0]).trim() !== "ready") throw new Error(`the namespace could not be set up: ${errors}`);
  return {
    wrap: `exec nsenter -t ${holder.pid} -m -n --wdns="$PWD" "$@"`,
    async stop() {
      holder.stdin.end();
      await ended;
    },
  };
}
