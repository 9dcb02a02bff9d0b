/** Real SSH clients beside a platform: OpenSSH, dropbear and Paramiko, with keys and certificates. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { findProgram } from "./programs.ts";
import type { ProgramName } from "./programs.ts";

export interface SshClient {
  /** What it has printed. */
  readonly stdout: string;
  readonly stderr: string;
  readonly pid: number;
  /** Resolves with the standard output when it contains `text`. Fails if the client ends before. */
  says(text: string | RegExp): Promise<string>;
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>;
  write(text: string): void;
  stop(): Promise<void>;
}

export interface SshKey {
  /** Path of the private key. */
  readonly file: string;
  /** Line of the public key. */
  readonly line: string;
  readonly fingerprint: string;
}

export interface SshClients {
  readonly directory: string;
  makeKey(name: string, type?: string, bits?: number): SshKey;
  /** Signs the key, after which OpenSSH uses the certificate. `more`: further arguments of ssh-keygen. */
  certify(authority: SshKey, key: SshKey, principals: string, ...more: readonly string[]): void;
  openssh(port: number, key: SshKey, ...args: readonly string[]): SshClient;
  dropbear(port: number, key: SshKey, ...args: readonly string[]): SshClient;
  /** Runs Python with a logged-in `transport` of Paramiko, and `forward(name, port, target)`. */
  paramiko(port: number, key: SshKey, code: string): SshClient;
  stop(): Promise<void>;
}

/** The user name of every login. */
export const sshUser = "me";

export function makeSshClients(): SshClients {
  const directory = mkdtempSync(join(tmpdir(), "postern-ssh-"));
  const running = new Set<SshClient>();
  const start = (program: ProgramName, args: readonly string[]): SshClient => {
    const client = startClient(findProgram(program) ?? program, args);
    running.add(client);
    return client;
  };
  const keygen = (args: readonly string[]): string => {
    const { status, stdout, stderr } = spawnSync(findProgram("ssh-keygen") ?? "ssh-keygen", args, { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
    return stdout;
  };
  return {
    directory,
    makeKey(name, type = "ed25519", bits) {
      const file = join(directory, name);
      keygen(["-q", "-t", type, ...(bits === undefined ? [] : ["-b", String(bits)]), "-N", "", "-C", "", "-f", file]);
      const fingerprint = keygen(["-l", "-f", file]).split(" ")[1] as string;
      return { file, line: readFileSync(`${file}.pub`, "utf8").trim(), fingerprint };
    },
    certify(authority, key, principals, ...more) {
      keygen(["-q", "-s", authority.file, "-I", "test key", "-n", principals, ...more, `${key.file}.pub`]);
    },
    openssh: (port, key, ...args) =>
      start("ssh", [
        "-F",
        "none",
        "-T",
        "-i",
        key.file,
        "-p",
        String(port),
        "-l",
        sshUser,
        "-o",
        "IdentitiesOnly=yes",
        "-o",
        "StrictHostKeyChecking=no",
        "-o",
        "UserKnownHostsFile=/dev/null",
        "-o",
        "BatchMode=yes",
        ...args,
      ]),
    dropbear(port, key, ...args) {
      const file = `${key.file}.dropbear`;
      spawnSync(findProgram("dropbearconvert") ?? "dropbearconvert", ["openssh", "dropbear", key.file, file]);
      return start("dbclient", ["-y", "-y", "-i", file, "-p", String(port), "-l", sshUser, ...args]);
    },
    paramiko(port, key, code) {
      const file = join(directory, `paramiko-${running.size}.py`);
      writeFileSync(file, `${paramikoStart(port, key)}\n${code}\nsys.stdin.read()\n`);
      return start("python3-paramiko", [file]);
    },
    async stop() {
      await Promise.all([...running].map((client) => client.stop()));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function startClient(program: string, args: readonly string[]): SshClient {
  const child = spawn(program, args, { env: { PATH: process.env["PATH"], HOME: "/nonexistent" } });
  let [stdout, stderr] = ["", ""];
  let hasEnded = false;
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  child.stdin.on("error", () => {});
  const ended = once(child, "close").then(([code]) => {
    hasEnded = true;
    return code as number | null;
  });
  return {
    get stdout() {
      return stdout;
    },
    get stderr() {
      return stderr;
    },
    pid: child.pid as number,
    async says(text) {
      const has = (): boolean => (typeof text === "string" ? stdout.includes(text) : text.test(stdout));
      await eventually(has, (isThere) => isThere || hasEnded);
      if (!has()) throw new Error(`the client has ended: ${stdout}\n${stderr}`);
      return stdout;
    },
    ended,
    write: (text) => void child.stdin.write(text),
    async stop() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

function paramikoStart(port: number, key: SshKey): string {
  return `
import paramiko, socket, sys, threading
client = paramiko.SSHClient()
client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
client.connect("127.0.0.1", ${port}, "${sshUser}", key_filename=${JSON.stringify(key.file)}, allow_agent=False, look_for_keys=False)
transport = client.get_transport()

def copy(source, target, end):
    while True:
        data = source.recv(65536)
        if not data: break
        target.sendall(data)
    end()

def forward(name, port, target):
    def serve(channel, origin, server):
        service = socket.create_connection(("127.0.0.1", target))
        threading.Thread(target=copy, args=(channel, service, lambda: service.shutdown(1)), daemon=True).start()
        threading.Thread(target=copy, args=(service, channel, channel.shutdown_write), daemon=True).start()
    print("forwarded", transport.request_port_forward(name, port, serve), flush=True)
`;
}
