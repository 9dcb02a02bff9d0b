/** The key by which SSH clients know this server. */
import { createHmac, createPrivateKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { readHostKey } from "../../ssh/keys/host-key.ts";
import { Failure } from "../process/exit.ts";

/** RFC 8410 §7: what precedes the 32 bytes of an Ed25519 key. */
const ed25519Prefix = Buffer.from("302e020100300506032b657004220420", "hex");

/**
 * Returns the key in `file`, or one that follows from the secret that all nodes share, as PEM. Throws `Failure` (usage).
 */
export function sshHostKeyOf(file: string | undefined, tunnelSecret: Uint8Array): string {
  if (file === undefined) return derivedKey(tunnelSecret);
  try {
    const pem = readFileSync(file, "utf8");
    readHostKey(pem);
    return pem;
  } catch (error) {
    throw new Failure("usage", `--ssh-host-key "${file}": ${(error as Error).message}`, { cause: error });
  }
}

function derivedKey(secret: Uint8Array): string {
  const seed = createHmac("sha256", secret).update("ssh host key").digest();
  const key = createPrivateKey({ key: Buffer.concat([ed25519Prefix, seed]), format: "der", type: "pkcs8" });
  return key.export({ type: "pkcs8", format: "pem" });
}
