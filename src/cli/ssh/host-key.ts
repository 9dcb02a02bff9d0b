/** The key by which SSH clients know this server. */
import { createHmac, createPrivateKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { readHostKey, withCertificate } from "../../ssh/keys/host-key.ts";
import type { HostKey } from "../../ssh/keys/host-key.ts";
import { Failure } from "../process/exit.ts";

/** RFC 8410 §7: what precedes the 32 bytes of an Ed25519 key. */
const ed25519Prefix = Buffer.from("302e020100300506032b657004220420", "hex");

export interface HostKeySettings {
  readonly sshHostKey: string | undefined;
  readonly sshHostCertificate: string | undefined;
}

/** In a form that threads share. */
export interface HostKeyTexts {
  readonly pem: string;
  /** Line of the certificate. */
  readonly certificate: string | undefined;
}

/**
 * Returns the key in the operator's file, or one that follows from the secret that all nodes share. Throws `Failure`
 * (usage).
 */
export function hostKeyTexts(settings: HostKeySettings, tunnelSecret: Uint8Array): HostKeyTexts {
  const { sshHostKey, sshHostCertificate } = settings;
  const pem = sshHostKey === undefined ? deriveKey(tunnelSecret) : read("--ssh-host-key", sshHostKey, readHostKey);
  const certificate =
    sshHostCertificate &&
    read("--ssh-host-certificate", sshHostCertificate, (line) => withCertificate(readHostKey(pem), line));
  return { pem, certificate };
}

export function hostKeyOf({ pem, certificate }: HostKeyTexts): HostKey {
  const key = readHostKey(pem);
  return certificate === undefined ? key : withCertificate(key, certificate);
}

/** Returns the content of the file, if `check` does not throw. */
function read(flag: string, path: string, check: (text: string) => unknown): string {
  try {
    const text = readFileSync(path, "utf8");
    check(text);
    return text;
  } catch (error) {
    throw new Failure("usage", `${flag} "${path}": ${(error as Error).message}`, { cause: error });
  }
}

function deriveKey(secret: Uint8Array): string {
  const seed = createHmac("sha256", secret).update("ssh host key").digest();
  const key = createPrivateKey({ key: Buffer.concat([ed25519Prefix, seed]), format: "der", type: "pkcs8" });
  return key.export({ type: "pkcs8", format: "pem" }) as string;
}
