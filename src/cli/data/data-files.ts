/** The files of a data directory, one by one. A secret's has mode 0600, and one that others can read is refused. */
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../process/exit.ts";

/** What is in the directory, by file name. */
export const dataFiles = {
  caCertificate: "ca.pem",
  caKey: "ca.key",
  apiKey: "api-key",
  authtoken: "authtoken",
  tunnelSecret: "tunnel.key",
  /** Where a running server can be reached; no secrets. */
  server: "server.json",
  /** What `postern dev` keeps: the public URL. */
  dev: "dev.json",
  /** What the development identity provider asks of it, so that routes go on after a restart. */
  devLogin: "dev-login",
} as const;

/**
 * The secret in `file`, or undefined when there is no such file. Throws `Failure` (usage) when others than the
 * owner can read it, or it cannot be read.
 */
export function readSecret(path: string, file: string): string | undefined {
  const name = join(path, file);
  try {
    const mode = statSync(name).mode & 0o777;
    if (process.platform !== "win32" && (mode & 0o077) !== 0) {
      throw new Failure(
        "usage",
        `"${name}" holds a secret, but other users can read it (mode ${mode.toString(8)}): run \`chmod 600 ${name}\``,
      );
    }
    return readFileSync(name, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    if (error instanceof Failure) throw error;
    throw new Failure("usage", `cannot read "${name}": ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Throws `Failure` (usage) unless the directory, and each of `files` that exists, belongs to the user who runs the
 * command and can be written by no other user.
 */
export function checkOwned(path: string, files: readonly string[]): void {
  if (process.platform === "win32") return;
  const user = process.getuid?.();
  for (const name of [path, ...files.map((file) => join(path, file))]) {
    const found = statSync(name, { throwIfNoEntry: false });
    if (!found) continue;
    if (found.uid !== user) {
      throw new Failure(
        "usage",
        `"${name}" belongs to user ${found.uid}, but this command runs as user ${user}: run the command as the owner, or set the server and its credentials with options`,
      );
    }
    if ((found.mode & 0o022) !== 0) {
      const mode = (found.mode & 0o777).toString(8);
      throw new Failure("usage", `other users can change "${name}" (mode ${mode}): run \`chmod go-w ${name}\``);
    }
  }
}

/** The content of a file that holds no secret, or undefined when there is none. */
export function readPublic(path: string, file: string): string | undefined {
  try {
    return readFileSync(join(path, file), "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw new Failure("usage", `cannot read "${join(path, file)}": ${(error as Error).message}`, { cause: error });
  }
}

/** Replaces a file's content at once: a crash leaves the old or the new, never a part. */
export function writeWhole(path: string, file: string, content: string, mode: number): void {
  const name = join(path, file);
  const draft = `${name}.new`;
  try {
    rmSync(draft, { force: true });
    writeFileSync(draft, `${content}\n`, { mode, flag: "wx", flush: true });
    renameSync(draft, name);
  } catch (error) {
    rmSync(draft, { force: true });
    throw unwritable(path, error);
  }
}

export function removeFile(path: string, file: string): void {
  rmSync(join(path, file), { force: true });
}

/** Says what to do about a directory that cannot be written. */
export function unwritable(path: string, error: unknown): Failure {
  const code = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
  return new Failure(
    "usage",
    `cannot write to the data directory "${path}" (${code}): make it writable, or set another directory with --data`,
    {
      cause: error,
    },
  );
}
