/**
 * Programs that some tests need and a fresh machine may lack. A test without its program is skipped with a reason that
 * names the package, and the last lines of `npm test` count what was skipped. Where `CI` is set, a missing program is an
 * error.
 */
import { accessSync, constants, globSync } from "node:fs";
import { delimiter, join } from "node:path";

export type ProgramName =
  | "caddy"
  | "chromium"
  | "curl"
  | "haproxy"
  | "initdb"
  | "pebble"
  | "pgbouncer"
  | "python3"
  | "tmux";

/** Each program with its Debian package, and other names under which it may be installed. */
const programs: Readonly<Record<ProgramName, { readonly package: string; readonly names?: readonly string[] }>> = {
  caddy: { package: "caddy" },
  chromium: { package: "chromium-headless-shell", names: ["chromium-headless-shell", "chromium", "chromium-browser"] },
  curl: { package: "curl" },
  haproxy: { package: "haproxy" },
  initdb: { package: "postgresql" },
  pebble: { package: "pebble" },
  pgbouncer: { package: "pgbouncer" },
  python3: { package: "python3" },
  tmux: { package: "tmux" },
};

/** Folders in which Debian puts servers, searched after those of `PATH`. `POSTERN_TEST_PATH_ONLY` leaves them out. */
const serverFolders = process.env["POSTERN_TEST_PATH_ONLY"] ? [] : ["/usr/sbin", ...postgresFolders()];

/** The path of a program, or undefined if it is not installed. */
export function findProgram(name: ProgramName): string | undefined {
  return findExecutable(programs[name].names ?? [name]);
}

/**
 * The path of the first executable with one of these names, in the order of the names: in `PATH`, then in the folders of
 * servers.
 */
export function findExecutable(names: readonly string[]): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter).filter(Boolean), ...serverFolders];
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
}

/**
 * The `skip` option of a test or suite that needs these programs: false if all are installed, otherwise the reason.
 *
 * @throws where `CI` is set and a program is missing
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
