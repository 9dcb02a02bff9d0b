/**
 * Programs that some tests need and a fresh machine may lack. A test without its program is skipped, and the reason
 * names the package. The last lines of `npm test` count the skipped tests. Where `CI` is set, a missing program is an
 * error.
 */
import { spawnSync } from "node:child_process";
import { accessSync, constants, globSync } from "node:fs";
import { delimiter, join } from "node:path";

export type ProgramName =
  | "caddy"
  | "certutil"
  | "chromium"
  | "curl"
  | "dbclient"
  | "dropbearconvert"
  | "fail2ban-regex"
  | "goaccess"
  | "haproxy"
  | "initdb"
  | "named"
  | "nsupdate"
  | "openssl"
  | "pebble"
  | "pgbouncer"
  | "prometheus"
  | "promtool"
  | "python3"
  | "python3-aiohttp"
  | "python3-grpcio"
  | "python3-h2"
  | "python3-httpx"
  | "python3-paramiko"
  | "python3-requests"
  | "ssh"
  | "ssh-keygen"
  | "systemd-analyze"
  | "tmux";

interface Program {
  /** Debian package. */
  readonly package: string;
  /** Names of the installed program, if they differ from the key. */
  readonly names?: readonly string[];
  /** Python module that it provides. The program is then an interpreter that can import the module. */
  readonly module?: string;
}

const programs: Readonly<Record<ProgramName, Program>> = {
  caddy: { package: "caddy" },
  certutil: { package: "libnss3-tools" },
  chromium: { package: "chromium-headless-shell", names: ["chromium-headless-shell", "chromium", "chromium-browser"] },
  curl: { package: "curl" },
  dbclient: { package: "dropbear-bin" },
  dropbearconvert: { package: "dropbear-bin" },
  "fail2ban-regex": { package: "fail2ban" },
  goaccess: { package: "goaccess" },
  haproxy: { package: "haproxy" },
  initdb: { package: "postgresql" },
  named: { package: "bind9" },
  nsupdate: { package: "bind9-dnsutils" },
  openssl: { package: "openssl" },
  pebble: { package: "pebble" },
  pgbouncer: { package: "pgbouncer" },
  prometheus: { package: "prometheus" },
  promtool: { package: "prometheus" },
  python3: { package: "python3" },
  "python3-aiohttp": { package: "python3-aiohttp", module: "aiohttp" },
  "python3-grpcio": { package: "python3-grpcio", module: "grpc" },
  "python3-h2": { package: "python3-h2", module: "h2" },
  "python3-httpx": { package: "python3-httpx", module: "httpx" },
  "python3-paramiko": { package: "python3-paramiko", module: "paramiko" },
  "python3-requests": { package: "python3-requests", module: "requests" },
  ssh: { package: "openssh-client" },
  "ssh-keygen": { package: "openssh-client" },
  "systemd-analyze": { package: "systemd" },
  tmux: { package: "tmux" },
};

export const programNames = Object.keys(programs) as readonly ProgramName[];

/** Folders in which Debian installs servers, searched after those of `PATH`. `POSTERN_TEST_PATH_ONLY` excludes them. */
const serverFolders = process.env["POSTERN_TEST_PATH_ONLY"] ? [] : ["/usr/sbin", ...postgresFolders()];

/** Returns the path of a program, or undefined if it is not installed. */
export function findProgram(name: ProgramName): string | undefined {
  const { names = [name], module } = programs[name];
  return module === undefined ? findExecutable(names) : findPython(module);
}

/**
 * Returns the path of the first executable with one of these names, in order: in `PATH`, then in the folders of
 * servers.
 */
export function findExecutable(names: readonly string[]): string | undefined {
  return executables(names)[0];
}

function executables(names: readonly string[]): string[] {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter).filter(Boolean), ...serverFolders];
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).filter(isExecutable);
}

/** Modules of each interpreter in `PATH`, looked up on demand. A machine may have several interpreters. */
let pythons: ReadonlyMap<string, readonly string[]> | undefined;

/** Returns the first interpreter that can import the module. */
function findPython(module: string): string | undefined {
  pythons ??= new Map(executables(["python3"]).map((python) => [python, importable(python)]));
  return [...pythons].find(([, modules]) => modules.includes(module))?.[0];
}

function importable(python: string): readonly string[] {
  const names = Object.values(programs).flatMap(({ module }) => module ?? []);
  const code = "import importlib.util, sys\nfor name in sys.argv[1:]:\n if importlib.util.find_spec(name): print(name)";
  return spawnSync(python, ["-c", code, ...names], { encoding: "utf8", timeout: 20_000 }).stdout?.split("\n") ?? [];
}

/**
 * Returns the `skip` option of a test or suite that needs these programs: false if all are installed, otherwise the
 * reason.
 *
 * @throws if `CI` is set and a program is missing
 */
export function skipWithout(...names: readonly ProgramName[]): string | false {
  const missing = names.filter((name) => findProgram(name) === undefined);
  if (missing.length === 0) return false;
  const packages = missing.map((name) => programs[name].package).join(" ");
  const reason = `needs ${missing.join(" and ")} (apt-get install ${packages})`;
  if (process.env["CI"]) throw new Error(`a test ${reason}`);
  return reason;
}

/**
 * The `skip` option of a test that needs PostgreSQL: false if `POSTERN_TEST_POSTGRES` names a server or one is installed,
 * otherwise the reason.
 */
export const skipWithoutPostgres: string | false = process.env["POSTERN_TEST_POSTGRES"] ? false : skipWithout("initdb");

function postgresFolders(): string[] {
  return globSync("/usr/lib/postgresql/*/bin").sort((a, b) => b.localeCompare(a, "en", { numeric: true }));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
