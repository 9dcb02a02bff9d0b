/** Bodies as they were before they were compressed (RFC 9110 §8.4), bounded. */
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";

const decoders = new Map([
  ["gzip", promisify(gunzip)],
  ["x-gzip", promisify(gunzip)],
  ["deflate", promisify(inflate)],
  ["br", promisify(brotliDecompress)],
]);

/**
 * @param codings values of Content-Encoding; what is not known, or more than one, stays as it is
 * @returns undefined when more than `maxBytes` come out, or it is not what it says
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
