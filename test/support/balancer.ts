/** A real TCP balancer (HAProxy) in front of servers on separate loopback addresses. It checks their readiness. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { freePort, portIs } from "./connections.ts";
import { findProgram } from "./programs.ts";

/** Ports of every server and of the balancer. */
export interface Ports {
  readonly api: number;
  readonly https: number;
  readonly agents: number;
}

export interface Balancer {
  readonly ports: Ports;
  /** Settings of a server behind the balancer. */
  env(host: string): Record<string, string>;
  stop(): Promise<void>;
}

const running: (() => Promise<void>)[] = [];
// A test that fails early leaves its balancer running, which would keep the process alive.
after(() => Promise.all(running.map((stop) => stop())));

/** @param hosts loopback addresses of the servers, which listen on the balancer's ports */
export async function startBalancer(hosts: readonly string[]): Promise<Balancer> {
  // Servers that share ports with their edges would not detect the same port chosen twice.
  const taken = new Set<number>();
  while (taken.size < 3) taken.add(await freePort());
  const [api, https, agents] = [...taken] as [number, number, number];
  const ports = { api, https, agents };
  const directory = mkdtempSync(join(tmpdir(), "postern-balancer-"));
  const file = join(directory, "haproxy.cfg");
  writeFileSync(file, configuration(ports, hosts));
  const child = spawn(findProgram("haproxy") as string, ["-db", "-q", "-f", file], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = once(child, "close");
  await Promise.race([portIs("open", https), ended.then(() => Promise.reject(new Error("HAProxy has ended")))]);
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
    rmSync(directory, { recursive: true, force: true });
  };
  running.push(stop);
  return {
    ports,
    env: (host) => ({
      POSTERN_API_LISTEN: `${host}:${api}`,
      POSTERN_HTTPS_LISTEN: `${host}:${https}`,
      POSTERN_AGENT_LISTEN: `${host}:${agents}`,
      POSTERN_PEER_LISTEN: `${host}:0`,
    }),
    stop,
  };
}

/**
 * Follows the guide "restarts": the balancer distributes connections in turn to servers that accept traffic and writes. If
 * there are none, it uses those that accept traffic.
 */
function configuration({ api, https, agents }: Ports, hosts: readonly string[]): string {
  const each = (line: (name: string, host: string) => string): string =>
    hosts.map((host, at) => line(`n${at}`, host)).join("\n");
  const checks = (name: string, path: string): string =>
    `backend ${name}\n  option httpchk GET ${path}\n${each(
      (one, host) => `  server ${one} ${host}:${api} check inter 200ms fall 2 rise 1`,
    )}\n`;
  const part = (name: string, port: number): string =>
    `listen ${name}\n  bind 127.0.0.1:${port}\n  option allbackups\n${each(
      (one, host) => `  server ${one} ${host}:${port} track all/${one}`,
    )}\n${each((one, host) => `  server ${one}-traffic ${host}:${port} track traffic/${one} backup`)}\n`;
  return `global
  maxconn 4000
defaults
  mode tcp
  balance roundrobin
  option redispatch
  retries 3
  timeout connect 2s
  # Without this, a check fails if its response takes longer than its interval, and a busy machine has no ready server.
  timeout check 2s
  timeout client 1h
  timeout server 1h
${checks("all", "/readyz?of=all")}${checks("traffic", "/readyz")}${part("api", api)}${part("https", https)}${part("agents", agents)}`;
}
