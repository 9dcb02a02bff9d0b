/** An authenticator in software: passkeys with ES256 and no attestation, as a browser returns them. */
import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";

export interface Authenticator {
  /** Returns the browser's response to the options of a registration. */
  register(options: CreationOptions, at: Place): Record<string, unknown>;
  /** Returns the browser's response to the options of a login. */
  assert(options: { readonly challenge: string }, at: Place): Record<string, unknown>;
}

interface CreationOptions {
  readonly challenge: string;
  readonly user: { readonly id: string };
}

export interface Place {
  /** Origin of the page. */
  readonly origin: string;
  /** Default: the host of the origin. */
  readonly rpId?: string;
  /** Whether the person was verified, for example by a fingerprint. Default: true. */
  readonly isVerified?: boolean;
}

export function makeAuthenticator(): Authenticator {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const id = randomBytes(32);
  let userHandle = "";
  let counter = 0;
  const dataFor = ({ origin, rpId = new URL(origin).hostname, isVerified = true }: Place, more: Buffer): Buffer => {
    const head = Buffer.alloc(5);
    head[0] = 0x01 | (isVerified ? 0x04 : 0) | (more.length > 0 ? 0x40 : 0);
    head.writeUInt32BE((counter += 1), 1);
    return Buffer.concat([sha256(Buffer.from(rpId)), head, more]);
  };
  const shared = { id: id.toString("base64url"), rawId: id.toString("base64url"), type: "public-key" };
  const rest = { clientExtensionResults: {} };
  return {
    register({ challenge, user }, at) {
      userHandle = user.id;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(id.length);
      const data = dataFor(at, Buffer.concat([Buffer.alloc(16), length, id, coseKey(publicKey)]));
      const attestation = map([
        [text("fmt"), text("none")],
        [text("attStmt"), map([])],
        [text("authData"), bytes(data)],
      ]);
      const response = {
        clientDataJSON: clientData("webauthn.create", challenge, at).toString("base64url"),
        attestationObject: attestation.toString("base64url"),
        transports: ["internal"],
      };
      return { ...shared, ...rest, response };
    },
    assert({ challenge }, at) {
      const client = clientData("webauthn.get", challenge, at);
      const data = dataFor(at, Buffer.alloc(0));
      const signature = sign("sha256", Buffer.concat([data, sha256(client)]), privateKey);
      const response = {
        clientDataJSON: client.toString("base64url"),
        authenticatorData: data.toString("base64url"),
        signature: signature.toString("base64url"),
        userHandle,
      };
      return { ...shared, ...rest, response };
    },
  };
}

function clientData(type: string, challenge: string, { origin }: Place): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
}

function coseKey(publicKey: KeyObject): Buffer {
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  const at = (value: string): Buffer => bytes(Buffer.from(value, "base64url"));
  // kty: EC2, alg: ES256, crv: P-256 (RFC 9053 §7.1).
  return map([
    [Buffer.from([0x01]), Buffer.from([0x02])],
    [Buffer.from([0x03]), Buffer.from([0x26])],
    [Buffer.from([0x20]), Buffer.from([0x01])],
    [Buffer.from([0x21]), at(x)],
    [Buffer.from([0x22]), at(y)],
  ]);
}

/** CBOR (RFC 8949), as much as an attestation needs. */
function head(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length]);
  if (length < 256) return Buffer.from([(major << 5) | 24, length]);
  return Buffer.from([(major << 5) | 25, length >> 8, length & 0xff]);
}

function bytes(value: Buffer): Buffer {
  return Buffer.concat([head(2, value.length), value]);
}

function text(value: string): Buffer {
  return Buffer.concat([head(3, value.length), Buffer.from(value)]);
}

function map(entries: readonly (readonly [Buffer, Buffer])[]): Buffer {
  return Buffer.concat([head(5, entries.length), ...entries.flat()]);
}

function sha256(data: Buffer): Buffer {
  return createHash("sha256").update(data).digest();
}
