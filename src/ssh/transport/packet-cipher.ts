/** Encrypts and authenticates packets in one direction (RFC 4253 §6, RFC 5647, and OpenSSH's encrypt-then-MAC). */
import { createCipheriv, createDecipheriv, createHmac, randomFillSync, timingSafeEqual } from "node:crypto";
import type { Cipheriv, CipherGCMTypes, Decipheriv } from "node:crypto";
import { SshViolation } from "../ssh-wire.ts";

/** Maximum bytes of a received packet without its length and code (RFC 4253 §6.1 requires 35,000 in total). */
export const maxPacketBytes = 35_000;

export interface CipherName {
  readonly gcm: boolean;
  readonly node: string;
  readonly keyBytes: number;
  readonly ivBytes: number;
}

export const ciphers: Readonly<Record<string, CipherName>> = {
  "aes256-gcm@openssh.com": { gcm: true, node: "aes-256-gcm", keyBytes: 32, ivBytes: 12 },
  "aes128-gcm@openssh.com": { gcm: true, node: "aes-128-gcm", keyBytes: 16, ivBytes: 12 },
  "aes256-ctr": { gcm: false, node: "aes-256-ctr", keyBytes: 32, ivBytes: 16 },
  "aes128-ctr": { gcm: false, node: "aes-128-ctr", keyBytes: 16, ivBytes: 16 },
};

export interface MacName {
  readonly node: string;
  readonly keyBytes: number;
  /** Whether the code covers the encrypted packet. Its length is then not encrypted. */
  readonly etm: boolean;
}

export const macs: Readonly<Record<string, MacName>> = {
  "hmac-sha2-256-etm@openssh.com": { node: "sha256", keyBytes: 32, etm: true },
  "hmac-sha2-512-etm@openssh.com": { node: "sha512", keyBytes: 64, etm: true },
  "hmac-sha2-256": { node: "sha256", keyBytes: 32, etm: false },
  "hmac-sha2-512": { node: "sha512", keyBytes: 64, etm: false },
};

export interface DirectionKeys {
  readonly cipher: CipherName;
  readonly mac: MacName;
  readonly key: Buffer;
  readonly iv: Buffer;
  readonly macKey: Buffer;
}

/** Packs the payloads that this end sends. */
export interface PacketSealer {
  /** Returns the packet of a payload that consists of `parts`. */
  seal(parts: readonly Uint8Array[], sequence: number): Buffer;
}

/** Unpacks received packets. */
export interface Opener {
  /** Bytes that must have arrived before the length of the packet is known. */
  readonly headBytes: number;
  /** Returns the number of all bytes of the packet. */
  length(head: Buffer): number;
  /** Returns the payload. Throws `SshViolation` if the packet was changed. `packet` must not be used afterwards. */
  open(packet: Buffer, sequence: number): Buffer;
}

/** Lays out a packet with its padding: length, padding length, payload, padding, and room for a code. */
function packPacket(parts: readonly Uint8Array[], block: number, aligned: number, codeBytes: number): Buffer {
  let payload = 0;
  for (const part of parts) payload += part.length;
  let padding = block - ((aligned + 1 + payload) % block);
  if (padding < 4) padding += block;
  const packet = Buffer.allocUnsafe(4 + 1 + payload + padding + codeBytes);
  packet.writeUInt32BE(1 + payload + padding);
  packet[4] = padding;
  let at = 5;
  for (const part of parts) {
    packet.set(part, at);
    at += part.length;
  }
  randomFillSync(packet, at, padding);
  return packet;
}

/** Returns the payload of `packet`, which begins with its length. */
function payloadOf(packet: Buffer): Buffer {
  const length = packet.readUInt32BE();
  const padding = packet[4] as number;
  if (padding < 4 || padding + 2 > length) throw new SshViolation("a packet has invalid padding");
  return packet.subarray(5, 4 + length - padding);
}

function checkLength(length: number, block: number, aligned: number): number {
  if (length < 5 || length > maxPacketBytes || (length + aligned) % block !== 0) {
    throw new SshViolation("a packet has an invalid length");
  }
  return length;
}

const plainBlock = 8;

/** For packets before the first key exchange. */
export const plainSealer: PacketSealer = { seal: (parts) => packPacket(parts, plainBlock, 4, 0) };

export const plainOpener: Opener = {
  headBytes: 4,
  length: (head) => 4 + checkLength(head.readUInt32BE(), plainBlock, 4),
  open: payloadOf,
};

const cipherBlock = 16;
const tagBytes = 16;
const sequenceBytes = Buffer.alloc(4);

export function makeSealer(keys: DirectionKeys): PacketSealer {
  return keys.cipher.gcm ? new GcmSealer(keys) : new CtrSealer(keys);
}

export function makeOpener(keys: DirectionKeys): Opener {
  return keys.cipher.gcm ? new GcmOpener(keys) : new CtrOpener(keys);
}

/** RFC 5647 §7.1: the counter is the last 8 bytes. */
function advanceCounter(iv: Buffer): void {
  for (let at = 11; at >= 4; at -= 1) {
    iv[at] = ((iv[at] as number) + 1) & 0xff;
    if (iv[at] !== 0) return;
  }
}

class GcmSealer implements PacketSealer {
  readonly #name: CipherGCMTypes;
  readonly #key: Buffer;
  readonly #iv: Buffer;

  constructor({ cipher, key, iv }: DirectionKeys) {
    this.#name = cipher.node as CipherGCMTypes;
    this.#key = key;
    this.#iv = iv;
  }

  seal(parts: readonly Uint8Array[]): Buffer {
    const packet = packPacket(parts, cipherBlock, 0, tagBytes);
    const end = packet.length - tagBytes;
    const cipher = createCipheriv(this.#name, this.#key, this.#iv, { authTagLength: tagBytes });
    cipher.setAAD(packet.subarray(0, 4));
    packet.set(cipher.update(packet.subarray(4, end)), 4);
    cipher.final();
    packet.set(cipher.getAuthTag(), end);
    advanceCounter(this.#iv);
    return packet;
  }
}

class GcmOpener implements Opener {
  readonly headBytes = 4;
  readonly #name: CipherGCMTypes;
  readonly #key: Buffer;
  readonly #iv: Buffer;

  constructor({ cipher, key, iv }: DirectionKeys) {
    this.#name = cipher.node as CipherGCMTypes;
    this.#key = key;
    this.#iv = iv;
  }

  length(head: Buffer): number {
    return 4 + checkLength(head.readUInt32BE(), cipherBlock, 0) + tagBytes;
  }

  open(packet: Buffer): Buffer {
    const end = packet.length - tagBytes;
    const decipher = createDecipheriv(this.#name, this.#key, this.#iv, { authTagLength: tagBytes });
    decipher.setAAD(packet.subarray(0, 4)).setAuthTag(packet.subarray(end));
    const plain = decipher.update(packet.subarray(4, end));
    try {
      decipher.final();
    } catch {
      throw new SshViolation("a packet was changed on its way");
    }
    advanceCounter(this.#iv);
    const padding = plain[0] as number;
    if (padding < 4 || padding + 2 > plain.length) throw new SshViolation("a packet has invalid padding");
    return plain.subarray(1, plain.length - padding);
  }
}

function codeOf(mac: MacName, key: Buffer, sequence: number, bytes: Uint8Array): Buffer {
  sequenceBytes.writeUInt32BE(sequence);
  return createHmac(mac.node, key).update(sequenceBytes).update(bytes).digest();
}

class CtrSealer implements PacketSealer {
  readonly #cipher: Cipheriv;
  readonly #mac: MacName;
  readonly #macKey: Buffer;

  constructor({ cipher, mac, key, iv, macKey }: DirectionKeys) {
    this.#cipher = createCipheriv(cipher.node, key, iv);
    this.#mac = mac;
    this.#macKey = macKey;
  }

  seal(parts: readonly Uint8Array[], sequence: number): Buffer {
    const { etm, keyBytes: codeBytes } = this.#mac;
    const packet = packPacket(parts, cipherBlock, etm ? 0 : 4, codeBytes);
    const end = packet.length - codeBytes;
    const body = packet.subarray(0, end);
    const encrypted = etm ? 4 : 0;
    const code = etm ? undefined : codeOf(this.#mac, this.#macKey, sequence, body);
    packet.set(this.#cipher.update(packet.subarray(encrypted, end)), encrypted);
    packet.set(code ?? codeOf(this.#mac, this.#macKey, sequence, body), end);
    return packet;
  }
}

class CtrOpener implements Opener {
  readonly headBytes: number;
  readonly #decipher: Decipheriv;
  readonly #mac: MacName;
  readonly #macKey: Buffer;
  /** The decrypted first block, if the length is encrypted. */
  #first = Buffer.alloc(0);

  constructor({ cipher, mac, key, iv, macKey }: DirectionKeys) {
    this.#decipher = createDecipheriv(cipher.node, key, iv);
    this.#mac = mac;
    this.#macKey = macKey;
    this.headBytes = mac.etm ? 4 : cipherBlock;
  }

  length(head: Buffer): number {
    const { etm, keyBytes: codeBytes } = this.#mac;
    if (etm) return 4 + checkLength(head.readUInt32BE(), cipherBlock, 0) + codeBytes;
    this.#first = this.#decipher.update(head.subarray(0, cipherBlock));
    return 4 + checkLength(this.#first.readUInt32BE(), cipherBlock, 4) + codeBytes;
  }

  open(packet: Buffer, sequence: number): Buffer {
    const { etm, keyBytes: codeBytes } = this.#mac;
    const end = packet.length - codeBytes;
    const code = packet.subarray(end);
    if (etm) {
      this.#check(code, sequence, packet.subarray(0, end));
      const plain = this.#decipher.update(packet.subarray(4, end));
      return payloadOf(Buffer.concat([packet.subarray(0, 4), plain]));
    }
    const rest = this.#decipher.update(packet.subarray(cipherBlock, end));
    const plain = Buffer.concat([this.#first, rest]);
    this.#check(code, sequence, plain);
    return payloadOf(plain);
  }

  #check(code: Buffer, sequence: number, bytes: Buffer): void {
    if (!timingSafeEqual(code, codeOf(this.#mac, this.#macKey, sequence, bytes))) {
      throw new SshViolation("a packet was changed on its way");
    }
  }
}
