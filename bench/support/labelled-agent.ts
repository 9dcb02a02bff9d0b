/** An agent behind edges of the API, and the backend that leads to it. */
import type { ChildProcess } from "node:child_process";
import { api } from "./api-client.ts";
import { authtoken } from "./postern.ts";
import type { PosternServer } from "./postern.ts";
import { start } from "./system.ts";

/**
 * Starts an agent with the label `app=bench`. Resolves when it is online.
 * @param port port of the service on this machine
 */
export async function startLabelledAgent(
  server: PosternServer,
  port: number,
): Promise<{ readonly agent: ChildProcess; readonly backendId: string }> {
  const args = ["http", String(port), "--label", "app=bench", "--server", `localhost:${server.agentPort}`];
  const agent = start(process.execPath, ["bin/postern.js", ...args, "--ca", server.caFile], {
    POSTERN_AUTHTOKEN: authtoken,
  });
  const tunnels = (): Promise<{ readonly tunnels: readonly unknown[] }> => api(server.apiUrl, "GET", "/tunnels");
  while ((await tunnels()).tunnels.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  const backend = { labels: { app: "bench" } };
  const { id } = await api<{ readonly id: string }>(server.apiUrl, "POST", "/backends/tunnel_group", backend);
  return { agent, backendId: id };
}
