/** Hash functions such as `hash.sha256(s)` and `s.sha256('base64')`. */
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { defineFunction, defineMember, defineOverload } from "../../cel/checking/function-declarations.ts";
import type { FunctionDeclaration } from "../../cel/checking/function-declarations.ts";
import { types } from "../../cel/checking/cel-types.ts";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import type { Result, Run } from "../../cel/values/budget.ts";
import { computeCrc64 } from "./crc64.ts";
import { computeXxhash64 } from "./xxhash64.ts";

const { string } = types;

function crc32Of(bytes: Buffer): Buffer {
  const digest = Buffer.alloc(4);
  digest.writeUInt32BE(crc32(bytes));
  return digest;
}

function encodeUint64(value: bigint): Buffer {
  const digest = Buffer.alloc(8);
  digest.writeBigUInt64BE(value);
  return digest;
}

const digests: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  crc32: crc32Of,
  crc64: (bytes) => encodeUint64(computeCrc64(bytes)),
  md5: (bytes) => createHash("md5").update(bytes).digest(),
  sha1: (bytes) => createHash("sha1").update(bytes).digest(),
  sha256: (bytes) => createHash("sha256").update(bytes).digest(),
  sha512: (bytes) => createHash("sha512").update(bytes).digest(),
  xxhash64: (bytes) => encodeUint64(computeXxhash64(bytes)),
};

export const hashFunctions: readonly FunctionDeclaration[] = Object.entries(digests).flatMap(([name, digest]) => {
  const made = (text: string, format: string, run: Run): Result => {
    if (format !== "hex" && format !== "base64") return new CelFailure("a hash is written as 'hex' or 'base64'");
    // A byte costs more in JavaScript than in native code.
    const weight = name === "crc64" || name === "xxhash64" ? 8 : 1;
    return run.spendText(text.length * weight) ?? digest(Buffer.from(text)).toString(format);
  };
  const plain = (text: string, run: Run): Result => made(text, "hex", run);
  return [
    defineFunction(
      `hash.${name}`,
      defineOverload(`hash_${name}`, [string], string, plain),
      defineOverload(`hash_${name}_format`, [string, string], string, made),
    ),
    defineFunction(
      name,
      defineMember(`string_${name}`, [string], string, plain),
      defineMember(`string_${name}_format`, [string, string], string, made),
    ),
  ];
});
