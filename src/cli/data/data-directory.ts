/**
 * The directory that holds everything a server keeps: database, keys, certificates, the first credentials.
 * Secrets are files of mode 0600, and one that others can read is refused.
 */
import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newToken, tokenPrefixes } from "../../lib/tokens.ts";
import { createAuthority } from "../../lib/x509.ts";
import type { KeyedCertificate } from "../../lib/x509.ts";
import { findSealingKey, loadSealingKey } from "../../storage/sealing-key.ts";
import { Failure } from "../process/exit.ts";

/** What is in the directory, by file name. */
export const dataFiles = {
  database: "postern.db",
  caCertificate: "ca.pem",
  caKey: "ca.key",
  apiKey: "api-key",
  authtoken: "authtoken",
  tunnelSecret: "tunnel.key",
  /** Where a running server can be reached; no secrets. */
  server: "server.json",
  /** What `postern dev` keeps: the public URL. */
  dev: "dev.json",
} as const;

export interface DataDirectory {
  readonly path: string;
  readonly authority: KeyedCertificate;
  readonly apiKey: string;
  readonly authtoken: string;
  /** The first one seals stored secrets, all open them. */
  readonly sealingKeys: readonly Buffer[];
  /** 32 bytes. */
  readonly tunnelSecret: Buffer;
  /** The credentials were made just now. */
  readonly firstStart: boolean;
}

/** Values chosen by the operator instead of random ones. */
export interface ChosenSecrets {
  readonly apiKey: string | undefined;
  readonly authtoken: string | undefined;
  /** 32 bytes in base64, one key per line, the newest first. */
  readonly sealingKey: string | undefined;
}

/**
 * Opens the directory, making what is missing. Throws `Failure` (usage) when it cannot be used. Before anything is made,
 * all that is there is read, and `accepts` is asked whether the database goes with these sealing keys (none: they would
 * be made); what it throws leaves the directory as it was.
 */
export async function openDataDirectory(
  path: string,
  chosen: ChosenSecrets,
  accepts: (sealingKeys: readonly Buffer[]) => Promise<void>,
): Promise<DataDirectory> {
  makeWritable(path);
  const found = sealingKeys(() => findSealingKey(path, chosen.sealingKey));
  const authority = readAuthority(path);
  const secret = (file: string, given?: string): { readonly file: string; readonly kept?: string; given?: string } => {
    const kept = readSecret(path, file);
    return { file, ...(kept !== undefined && { kept }), ...(given !== undefined && { given }) };
  };
  const tunnelSecret = secret(dataFiles.tunnelSecret);
  if (tunnelSecret.kept !== undefined) readKey(path, dataFiles.tunnelSecret, tunnelSecret.kept);
  const authtoken = secret(dataFiles.authtoken, chosen.authtoken);
  const apiKey = secret(dataFiles.apiKey, chosen.apiKey);
  const isMissing = !found || !authority || [tunnelSecret, authtoken, apiKey].some(({ kept }) => kept === undefined);
  if (isMissing) await accepts(found ?? []);

  const keep = (
    { file, kept, given }: { readonly file: string; readonly kept?: string; readonly given?: string },
    make: () => string,
  ): string => {
    if (kept !== undefined && (given === undefined || given === kept)) return kept;
    const value = given ?? make();
    writeWhole(path, file, value, 0o600);
    return value;
  };
  const random = (): string => randomBytes(32).toString("base64");
  return {
    path,
    firstStart: apiKey.kept === undefined,
    authority: authority ?? (await makeAuthority(path)),
    sealingKeys: found ?? sealingKeys(() => loadSealingKey(path)),
    tunnelSecret: readKey(path, dataFiles.tunnelSecret, keep(tunnelSecret, random)),
    authtoken: keep(authtoken, () => newToken(tokenPrefixes.agent)),
    apiKey: keep(apiKey, () => newToken(tokenPrefixes.apiKey)),
  };
}

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
        `"${name}" holds a secret, and others may read it (mode ${mode.toString(8)}): run \`chmod 600 ${name}\``,
      );
    }
    return readFileSync(name, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    if (error instanceof Failure) throw error;
    throw new Failure("usage", `"${name}" cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** The content of a file that holds no secret, or undefined when there is none. */
export function readPublic(path: string, file: string): string | undefined {
  try {
    return readFileSync(join(path, file), "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw new Failure("usage", `"${join(path, file)}" cannot be read: ${(error as Error).message}`, { cause: error });
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

function makeWritable(path: string): void {
  try {
    const made = mkdirSync(path, { recursive: true, mode: 0o700 });
    if (made !== undefined) chmodSync(path, 0o700);
    const probe = join(path, `.probe-${process.pid}`);
    writeFileSync(probe, "");
    rmSync(probe);
  } catch (error) {
    // A start needs no room while there is nothing to be made (S3).
    if (["ENOSPC", "EDQUOT"].includes((error as NodeJS.ErrnoException).code ?? "")) return;
    throw unwritable(path, error);
  }
}

function unwritable(path: string, error: unknown): Failure {
  const code = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
  return new Failure(
    "usage",
    `the data directory "${path}" cannot be written (${code}): make it writable, or name another with --data`,
    {
      cause: error,
    },
  );
}

function sealingKeys<Keys>(read: () => Keys): Keys {
  try {
    return read();
  } catch (error) {
    throw new Failure("usage", (error as Error).message, { cause: error });
  }
}

function readKey(path: string, file: string, content: string): Buffer {
  const key = Buffer.from(content, "base64");
  if (key.length === 32) return key;
  return fail(`"${join(path, file)}" is damaged: it must hold 32 bytes in base64; restore it from a backup`);
}

/** The server's own CA; undefined when it is still to be made. */
function readAuthority(path: string): KeyedCertificate | undefined {
  const keyPem = readSecret(path, dataFiles.caKey);
  const certificatePem = readPublic(path, dataFiles.caCertificate);
  if (keyPem !== undefined && certificatePem !== undefined) return { certificatePem, keyPem };
  if (certificatePem === undefined) return undefined;
  return fail(
    `"${path}" has ${dataFiles.caCertificate} without ${dataFiles.caKey}: restore the key, or remove the certificate to get a new CA`,
  );
}

async function makeAuthority(path: string): Promise<KeyedCertificate> {
  const commonName = `Postern development CA ${randomBytes(3).toString("hex")}`;
  const authority = await createAuthority({ commonName, now: Date.now() });
  // The key first: a start that was cut short leaves no certificate that someone could have come to trust.
  writeWhole(path, dataFiles.caKey, authority.keyPem.trim(), 0o600);
  writeWhole(path, dataFiles.caCertificate, authority.certificatePem.trim(), 0o644);
  return authority;
}

function fail(sentence: string): never {
  throw new Failure("usage", sentence);
}
