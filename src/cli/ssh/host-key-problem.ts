/** Problems of the SSH host key that clients see. */
import type { HostKey } from "../../ssh/keys/host-key.ts";
import { dataFiles, readPublic, writeWhole } from "../data/data-files.ts";

/** Clients reject a certificate that has expired, and operators need time to sign another one. */
const soonMs = 14 * 86_400_000;

/** Compares the key with that of the previous start, and checks its certificate. Returns the problem, with its fix. */
export function hostKeyProblem(data: string, key: HostKey, now: number): string | undefined {
  const { fingerprint } = key;
  const previous = readPublic(data, dataFiles.sshHostKey)?.trim();
  if (previous !== fingerprint) writeWhole(data, dataFiles.sshHostKey, fingerprint, 0o644);
  const certificate = certificateProblemOf(key, now);
  if (previous === undefined || previous === fingerprint) return certificate;
  return `the SSH host key has changed from ${previous} to ${fingerprint}, so clients refuse to connect: set --ssh-host-key to the previous key, or have users run ssh-keygen -R with the server's name`;
}

/** Returns why clients reject the certificate of the key, or soon will. */
export function certificateProblemOf({ certificate }: HostKey, now: number): string | undefined {
  if (certificate === undefined) return undefined;
  const { validAfterMs, validBeforeMs } = certificate;
  const sign = "sign the host key again with ssh-keygen, and restart the server";
  if (now < validAfterMs) return `the SSH host certificate is valid from ${dayOf(validAfterMs)}: ${sign}`;
  if (now >= validBeforeMs) return `the SSH host certificate has expired at ${dayOf(validBeforeMs)}: ${sign}`;
  if (now >= validBeforeMs - soonMs) return `the SSH host certificate expires at ${dayOf(validBeforeMs)}: ${sign}`;
  return undefined;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString();
}
