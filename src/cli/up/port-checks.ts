/** Checks whether the server can listen on its ports, and which program uses an occupied port. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import type { ListenAddress } from "../../settings/kinds/address.ts";
import { renderListen } from "../../settings/kinds/address.ts";
import type { Finding } from "../doctor/finding.ts";

export interface NeededPort {
  /** Shown to people: "HTTPS", "agents". */
  readonly purpose: string;
  readonly address: ListenAddress;
}

/** Process that listens on a port, as far as this user may see it. */
interface PortHolder {
  readonly pid: number;
  readonly command: string;
}

/** @param mayBindLow the service binds ports below 1024 through a capability, even if this command cannot */
export async function checkPort({ purpose, address }: NeededPort, mayBindLow: boolean): Promise<Finding> {
  const about = `port ${address.port} (${purpose})`;
  try {
    await bindPort(address);
    return { outcome: "fine", about, message: "is free" };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EACCES" && mayBindLow) return { outcome: "fine", about, message: "the service may use it" };
    if (code === "EACCES") {
      const advice = "run the command with sudo, or choose a port above 1023";
      return { outcome: "wrong", about, message: `this user may not use ports below 1024: ${advice}` };
    }
    if (code !== "EADDRINUSE") {
      return { outcome: "wrong", about, message: `cannot listen on ${renderListen(address)}: ${message}` };
    }
    const holder = holderOf(address.port);
    if (holder && isPostern(holder)) {
      return { outcome: "fine", about, message: `the Postern server uses it (process ${holder.pid})` };
    }
    const who = holder ? `${holder.command} (process ${holder.pid})` : "another program";
    return { outcome: "wrong", about, message: `${who} uses it: stop that program, or choose another port` };
  }
}

async function bindPort({ host, port }: ListenAddress): Promise<void> {
  const server = createServer();
  server.listen({ port, ...(host !== undefined && { host }) });
  await once(server, "listening");
  server.close();
  await once(server, "close");
}

function isPostern({ command }: PortHolder): boolean {
  return /postern/.test(command) && /\b(?:serve|dev|up)\b/.test(command);
}

/** Looks the listening socket up in /proc (Linux). Processes of other users are visible to root only. */
function holderOf(port: number): PortHolder | undefined {
  const inodes = new Set(["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) => readListeningInodes(file, port)));
  if (inodes.size === 0) return undefined;
  for (const pid of namesIn("/proc").filter((name) => /^\d+$/.test(name))) {
    const holds = namesIn(`/proc/${pid}/fd`).some((descriptor) => {
      const inode = /^socket:\[(\d+)\]$/.exec(linkAt(`/proc/${pid}/fd/${descriptor}`))?.[1];
      return inode !== undefined && inodes.has(inode);
    });
    if (holds) return { pid: Number(pid), command: commandOf(pid) };
  }
  return undefined;
}

/** proc_pid_net(5): local address, state 0A for a listening socket, and the inode. */
function readListeningInodes(file: string, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = textOf(file)
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
  return rows
    .filter(([, local = "", , state]) => local.endsWith(suffix) && state === "0A")
    .map((columns) => columns[9] ?? "");
}

function commandOf(pid: string): string {
  const words = textOf(`/proc/${pid}/cmdline`).split("\0").filter(Boolean);
  return words.length > 0 ? words.join(" ").slice(0, 120) : `process ${pid}`;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function linkAt(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
