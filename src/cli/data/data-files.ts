/**
 * Reads and writes single files of a data directory. A secret has mode 0600, and one that others can read is refused.
 */
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../process/exit.ts";

/** Files of the directory. */
export const dataFiles = {
  caCertificate: "ca.pem",
  caKey: "ca.key",
  apiKey: "api-key",
  authtoken: "authtoken",
  tunnelSecret: "tunnel.key",
  /** Addresses of a running server, without secrets. */
  server: "server.json",
  /** Public URL of `postern dev`. */
  dev: "dev.json",
  /** Client secret for the development identity provider, stored so that routes still work after a restart. */
  devLogin: "dev-login",
  /** Signing key and certificate of the provider, stored so that servers that have cached the key accept its tokens. */
  devLoginKey: "dev-login-key",
  /** Fingerprint of the SSH host key at the last start. */
  sshHostKey: "ssh-host-key-fingerprint",
  /** Folder of the last good copies of address lists. */
  addressLists: "address-lists",
} as const;

/**
 * Returns the secret in `file`, or undefined if it does not exist. Throws `Failure` (usage) if other users can read it,
 * or this user cannot.
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
 * Throws `Failure` (usage) unless the current user owns the directory and each existing one of `files`, and no other
 * user can write to them.
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

/** Returns the content of a file without secrets, or undefined if it does not exist. */
export function readPublic(path: string, file: string): string | undefined {
  try {
    return readFileSync(join(path, file), "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw new Failure("usage", `cannot read "${join(path, file)}": ${(error as Error).message}`, { cause: error });
  }
}

/** Replaces a file's content atomically: a crash leaves the old or the new content. */
export function writeWhole(path: string, file: string, content: string, mode: number): void {
  const name = join(path, file);
  const draft = `${name}.new`;
  try {
    rmSync(draft, { force: true });
    writeFileSync(draft, `${content}\n`, { mode, flag: "wx", flush: true });
    renameSync(draft, name);
  } catch (error) {
    rmSync(draft, { force: true });
    throw explainUnwritable(path, error);
  }
}

export function removeFile(path: string, file: string): void {
  rmSync(join(path, file), { force: true });
}

/** Returns a message with the fix for a directory that cannot be written. */
export function explainUnwritable(path: string, error: unknown): Failure {
  const code = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
  return new Failure(
    "usage",
    `cannot write to the data directory "${path}" (${code}): make it writable, or set another directory with --data`,
    {
      cause: error,
    },
  );
}
