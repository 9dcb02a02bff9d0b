/** Whether tests may create Linux namespaces. */
import { spawnSync } from "node:child_process";

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
