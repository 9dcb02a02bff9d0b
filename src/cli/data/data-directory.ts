/** Opens the directory with all data of a server: database, keys, certificates, the first credentials. */
import { X509Certificate, createPrivateKey, randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newToken, tokenPrefixes } from "../../lib/tokens.ts";
import { createAuthority } from "../../lib/certificates/x509.ts";
import type { KeyedCertificate } from "../../lib/certificates/x509.ts";
import { findSealingKey, loadSealingKey } from "../../storage/sealing/sealing-key.ts";
import { Failure } from "../process/exit.ts";
import { dataFiles, readPublic, readSecret, explainUnwritable, writeWhole } from "./data-files.ts";

export interface DataDirectory {
  readonly path: string;
  readonly authority: KeyedCertificate;
  readonly apiKey: string;
  readonly authtoken: string;
  /** The first key seals stored secrets. All keys open them. */
  readonly sealingKeys: readonly Buffer[];
  /** 32 bytes. */
  readonly tunnelSecret: Buffer;
  /** Whether this start created the credentials. */
  readonly firstStart: boolean;
}

/** Values that the operator chose instead of random ones. */
export interface ChosenSecrets {
  readonly apiKey: string | undefined;
  readonly authtoken: string | undefined;
  /** 32 bytes in base64, one key per line, the newest first. */
  readonly sealingKey: string | undefined;
}

/**
 * Opens the directory and creates missing files. Throws `Failure` (usage) if it is unusable. First it reads all
 * existing files and calls `accepts` to check whether the database fits the sealing keys (none: new keys would be
 * created). If `accepts` throws, the directory is unchanged.
 */
export async function openDataDirectory(
  path: string,
  chosen: ChosenSecrets,
  accepts: (sealingKeys: readonly Buffer[]) => Promise<void>,
): Promise<DataDirectory> {
  makeWritable(path);
  const found = sealingKeys(() => findSealingKey(path, chosen.sealingKey));
  const authority = readAuthority(path);
  const secret = (file: string, text?: string): { readonly file: string; readonly kept?: string; given?: string } => {
    const kept = readSecret(path, file);
    return { file, ...(kept !== undefined && { kept }), ...(text !== undefined && { given: text }) };
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

function makeWritable(path: string): void {
  try {
    const made = mkdirSync(path, { recursive: true, mode: 0o700 });
    if (made !== undefined) chmodSync(path, 0o700);
    const probe = join(path, `.probe-${process.pid}`);
    writeFileSync(probe, "");
    rmSync(probe);
  } catch (error) {
    // A start that creates nothing needs no disk space (S3).
    if (["ENOSPC", "EDQUOT"].includes((error as NodeJS.ErrnoException).code ?? "")) return;
    throw explainUnwritable(path, error);
  }
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
  return failWith(`"${join(path, file)}" is damaged: it must hold 32 bytes in base64; restore it from a backup`);
}

/** Returns the server's own CA, or undefined if it does not exist yet. */
function readAuthority(path: string): KeyedCertificate | undefined {
  const keyPem = readSecret(path, dataFiles.caKey);
  const certificatePem = readPublic(path, dataFiles.caCertificate);
  if (keyPem !== undefined && certificatePem !== undefined) return { certificatePem, keyPem };
  if (certificatePem === undefined) return undefined;
  return failWith(
    `"${path}" has ${dataFiles.caCertificate} without ${dataFiles.caKey}: restore the key, or remove the certificate to get a new CA`,
  );
}

/**
 * Returns the server's own CA, which must be able to issue certificates now.
 * @throws Failure (usage) if it cannot
 */
export function readUsableAuthority(path: string): KeyedCertificate {
  const authority = readAuthority(path) ?? failWith(`"${join(path, dataFiles.caCertificate)}" is missing: restore it`);
  const name = join(path, dataFiles.caCertificate);
  try {
    const certificate = new X509Certificate(authority.certificatePem);
    if (!certificate.ca) failWith(`"${name}" is not the certificate of a CA: use one with basicConstraints CA:TRUE`);
    if (certificate.validToDate.getTime() < Date.now()) failWith(`"${name}" has expired: use one that is valid`);
    if (certificate.checkPrivateKey(createPrivateKey(authority.keyPem))) return authority;
  } catch (error) {
    if (error instanceof Failure) throw error;
    failWith(`"${name}" or ${dataFiles.caKey} is not valid PEM (${(error as Error).message}): restore both files`);
  }
  return failWith(`${dataFiles.caKey} is not the key of "${name}": replace both files together`);
}

async function makeAuthority(path: string): Promise<KeyedCertificate> {
  const commonName = `Postern development CA ${randomBytes(3).toString("hex")}`;
  const authority = await createAuthority({ commonName, now: Date.now() });
  // Write the key first: an interrupted start then leaves no certificate that clients may already trust.
  writeWhole(path, dataFiles.caKey, authority.keyPem.trim(), 0o600);
  writeWhole(path, dataFiles.caCertificate, authority.certificatePem.trim(), 0o644);
  return authority;
}

/** Stores the CA that all nodes share for the commands on this machine. */
export function keepAuthority(path: string, authority: KeyedCertificate): void {
  writeWhole(path, dataFiles.caKey, authority.keyPem.trim(), 0o600);
  writeWhole(path, dataFiles.caCertificate, authority.certificatePem.trim(), 0o644);
}

function failWith(sentence: string): never {
  throw new Failure("usage", sentence);
}
