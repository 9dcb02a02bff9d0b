/** Postern in its usual form: a server process, an agent process, and a service. */
import type { ChildProcess } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, listening, start, stop } from "./system.ts";

/** Has the form of the server's own keys. */
export const apiKey = "postern_ak_benchmark0000000_0123456789abcdefghijklmnopqrstuv0vw5iai";
export const authtoken = "postern_at_benchagent000000_0123456789abcdefghijklmnopqrstuv0xsia74";

export interface PosternServer {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly apiUrl: string;
  readonly httpsPort: number;
  readonly agentPort: number;
  readonly data: string;
  readonly caFile: string;
  stop(): Promise<void>;
}

/** Starts `postern serve` on free ports, with a new directory or with `data`. */
export async function startServer(
  data = mkdtempSync(join(tmpdir(), "postern-bench-")),
  more: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<PosternServer> {
  const [api, https, agent] = [await freePort(), await freePort(), await freePort()];
  const child = start(
    process.execPath,
    [
      "bin/postern.js",
      "serve",
      "--data",
      data,
      "--api-listen",
      `127.0.0.1:${api}`,
      "--https-listen",
      `127.0.0.1:${https}`,
      "--agent-listen",
      `127.0.0.1:${agent}`,
      "--api-rate",
      "999999999",
      "--owner-max-objects",
      "999999999",
      "--account-max-objects",
      "999999999",
      "--domain",
      "localhost",
      ...more,
    ],
    { POSTERN_BOOTSTRAP_API_KEY: apiKey, POSTERN_BOOTSTRAP_AUTHTOKEN: authtoken, ...env },
  );
  await Promise.all([listening(api), listening(https), listening(agent)]);
  return {
    child,
    pid: child.pid as number,
    apiUrl: `http://127.0.0.1:${api}`,
    httpsPort: https,
    agentPort: agent,
    data,
    caFile: join(data, "ca.pem"),
    stop: () => stop(child),
  };
}

/**
 * Starts `postern http PORT` with a separate URL. Resolves when it forwards.
 * @param agentPort port to connect to, or several, tried in turn
 * @param isOnTerminal whether it shows its screen
 */
export async function startAgent(
  server: PosternServer,
  port: number,
  name: string,
  agentPort: number | readonly number[] = server.agentPort,
  more: readonly string[] = [],
  isOnTerminal = false,
): Promise<ChildProcess> {
  const servers = [agentPort].flat().map((one) => `localhost:${one}`);
  const words = [process.execPath, "bin/postern.js", "http", String(port), "--url", `https://${name}.localhost`];
  const command = [...words, "--server", servers.join(","), "--ca", server.caFile, ...more];
  const env = { POSTERN_AUTHTOKEN: authtoken };
  // `script` runs it on a new terminal and forwards the terminal's output.
  const child = isOnTerminal
    ? start("script", ["-qefc", command.join(" "), "/dev/null"], env)
    : start(command[0] as string, command.slice(1), env);
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on("data", (bytes: Buffer) => {
      if (bytes.includes(`${name}.localhost`)) resolve();
    });
    child.once("exit", (code) => reject(new Error(`the agent ended with ${code}`)));
  });
  return child;
}

export async function startService(): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  const port = await freePort();
  const child = start(process.execPath, ["bench/support/service.ts", String(port)]);
  await listening(port);
  return { child, port };
}
