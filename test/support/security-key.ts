/** A security key of SSH in software: its public key, and signatures as a device makes them (OpenSSH PROTOCOL.u2f). */
import { generateKeyPairSync, hash, sign } from "node:crypto";
import { encodeMpint, encodeString, encodeUint32 } from "../../src/ssh/ssh-wire.ts";

export interface SecurityKey {
  readonly type: string;
  /** Line of the public key. */
  readonly line: string;
  /** The private key in PEM. */
  readonly pem: string;
  readonly blob: Buffer;
  /** @param flags 1: the user was present, 4: the user was verified */
  sign(bytes: Uint8Array, flags?: number, application?: string): Buffer;
}

export const securityKeyTypes = ["sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com"] as const;

export function makeSecurityKey(type: (typeof securityKeyTypes)[number]): SecurityKey {
  const isCurve = type.startsWith("sk-ecdsa");
  const { publicKey, privateKey } = isCurve
    ? generateKeyPairSync("ec", { namedCurve: "P-256" })
    : generateKeyPairSync("ed25519");
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]);
  const fields = isCurve
    ? [encodeString("nistp256"), encodeString(point)]
    : [encodeString(Buffer.from(x, "base64url"))];
  const blob = Buffer.concat([encodeString(type), ...fields, encodeString("ssh:")]);
  return {
    type,
    blob,
    line: `${type} ${blob.toString("base64")}`,
    pem: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    sign(bytes, flags = 1, application = "ssh:") {
      const tail = Buffer.concat([Buffer.of(flags), encodeUint32(7)]);
      const signed = Buffer.concat([hash("sha256", application, "buffer"), tail, hash("sha256", bytes, "buffer")]);
      const value = isCurve
        ? sign("sha256", signed, { key: privateKey, dsaEncoding: "ieee-p1363" })
        : sign(null, signed, privateKey);
      const encoded = isCurve
        ? Buffer.concat([encodeMpint(value.subarray(0, 32)), encodeMpint(value.subarray(32))])
        : value;
      return Buffer.concat([encodeString(type), encodeString(encoded), tail]);
    },
  };
}
