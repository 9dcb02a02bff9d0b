/** Decompresses bodies (RFC 9110 §8.4) up to a size limit. */
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";

const decoders = new Map([
  ["gzip", promisify(gunzip)],
  ["x-gzip", promisify(gunzip)],
  ["deflate", promisify(inflate)],
  ["br", promisify(brotliDecompress)],
]);

/**
 * @param codings values of Content-Encoding; unknown or multiple codings are not decoded
 * @returns undefined if the result exceeds `maxBytes`, or the content does not match its coding
 */
export async function decodeContent(
  body: Buffer,
  codings: readonly string[] | undefined,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const decode = decoders.get((codings ?? []).join(",").trim().toLowerCase());
  if (!decode || body.length === 0) return body;
  try {
    return await decode(body, { maxOutputLength: maxBytes });
  } catch {
    return undefined;
  }
}
