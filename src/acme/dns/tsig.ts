/** Signatures of DNS messages with a shared key (TSIG, RFC 8945). */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { TsigAlgorithm } from "./provider-names.ts";
import { skipName, encodeUint16, encodeUint32, wireName } from "./dns-wire.ts";

export interface TsigKey {
  readonly name: string;
  readonly algorithm: TsigAlgorithm;
  readonly secret: Buffer;
}

export interface SignedMessage {
  readonly message: Buffer;
  /** Needed to verify the response. */
  readonly mac: Buffer;
}

/** What a response says. */
export interface SignedResponse {
  readonly responseCode: number;
  /** Extended error of the signature, such as 17 for BADSIG; 0 without one. */
  readonly signatureError: number;
  /** Whether the key signed the response, for this request. */
  readonly isAuthentic: boolean;
}

const typeTsig = 250;
const classAny = 255;
/** Allowed difference between the clocks, seconds (RFC 8945 §10). */
const fudge = 300;

/** Appends the signature. @param nowMs milliseconds since 1970 */
export function signMessage(unsigned: Buffer, key: TsigKey, nowMs: number): SignedMessage {
  const time = encodeUint48(Math.floor(nowMs / 1000));
  const algorithm = wireName(key.algorithm);
  const mac = computeHmac(key, [unsigned, encodeVariables(key, time, encodeUint16(fudge), 0, Buffer.alloc(0))]);
  const data = Buffer.concat([
    algorithm,
    time,
    encodeUint16(fudge, mac.length),
    mac,
    unsigned.subarray(0, 2),
    encodeUint16(0, 0),
  ]);
  const message = Buffer.concat([
    unsigned,
    wireName(key.name),
    encodeUint16(typeTsig, classAny),
    encodeUint32(0),
    encodeUint16(data.length),
    data,
  ]);
  message.writeUInt16BE(unsigned.readUInt16BE(10) + 1, 10);
  return { message, mac };
}

/** Reads the response to a message with `mac`. @throws Error if it is malformed */
export function readSigned(response: Buffer, mac: Buffer, key: TsigKey, nowMs: number): SignedResponse {
  const responseCode = response.readUInt16BE(2) & 0x0f;
  const last = findLastRecord(response);
  if (!last || response.readUInt16BE(last.typeAt) !== typeTsig) {
    return { responseCode, signatureError: 0, isAuthentic: false };
  }
  let at = skipName(response, last.dataAt);
  const algorithm = response.subarray(last.dataAt, at);
  const time = response.subarray(at, at + 6);
  const span = response.subarray(at + 6, at + 8);
  const macLength = response.readUInt16BE(at + 8);
  at += 10;
  const receivedMac = response.subarray(at, at + macLength);
  const original = response.subarray(at + macLength, at + macLength + 2);
  const signatureError = response.readUInt16BE(at + macLength + 2);
  const otherLength = response.readUInt16BE(at + macLength + 4);
  const other = response.subarray(at + macLength + 6, at + macLength + 6 + otherLength);
  const unsigned = Buffer.concat([original, response.subarray(2, last.startsAt)]);
  unsigned.writeUInt16BE(unsigned.readUInt16BE(10) - 1, 10);
  const expected = computeHmac(key, [
    encodeUint16(mac.length),
    mac,
    unsigned,
    encodeVariables(key, time, span, signatureError, other),
  ]);
  const isRecent = Math.abs(nowMs / 1000 - time.readUIntBE(0, 6)) <= fudge;
  const isSame = receivedMac.length === expected.length && timingSafeEqual(receivedMac, expected);
  const isAuthentic = isSame && isRecent && algorithm.equals(wireName(key.algorithm));
  return { responseCode, signatureError, isAuthentic };
}

/** RFC 8945 §4.3.3. */
function encodeVariables(
  { name, algorithm }: TsigKey,
  time: Buffer,
  span: Buffer,
  error: number,
  other: Buffer,
): Buffer {
  const fixed = [wireName(name), encodeUint16(classAny), encodeUint32(0), wireName(algorithm), time, span];
  return Buffer.concat([...fixed, encodeUint16(error, other.length), other]);
}

function computeHmac({ algorithm, secret }: TsigKey, parts: readonly Buffer[]): Buffer {
  const digest = createHmac(algorithm.slice("hmac-".length), secret);
  for (const part of parts) digest.update(part);
  return digest.digest();
}

function encodeUint48(value: number): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeUIntBE(value, 0, 6);
  return bytes;
}

/** Returns where the last record starts; undefined for a message without records. */
function findLastRecord(message: Buffer): { startsAt: number; typeAt: number; dataAt: number } | undefined {
  const [questions, ...records] = [4, 6, 8, 10].map((at) => message.readUInt16BE(at)) as [number, ...number[]];
  let at = 12;
  for (let left = questions; left > 0; left -= 1) at = skipName(message, at) + 4;
  let last: { startsAt: number; typeAt: number; dataAt: number } | undefined;
  for (let left = records.reduce((sum, one) => sum + one, 0); left > 0; left -= 1) {
    const typeAt = skipName(message, at);
    last = { startsAt: at, typeAt, dataAt: typeAt + 10 };
    at = typeAt + 10 + message.readUInt16BE(typeAt + 8);
  }
  if (at !== message.length) throw new RangeError("the message has another length than its records");
  return last;
}
