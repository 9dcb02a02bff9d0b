/**
 * Documents that are the same for everyone while the server runs. They are created and compressed once and have an
 * ETag.
 */
import { createHash } from "node:crypto";
import { gzip } from "node:zlib";
import { promisify } from "node:util";
import { readHeader } from "../operation/call.ts";
import type { Call, Reply } from "../operation/call.ts";

interface KeptDocument {
  readonly contentType: string;
  /** More header fields: names and values in turn. */
  readonly headers?: readonly string[];
  /** Called on the first request. */
  make(): string;
}

interface RenderedDocument {
  readonly plain: Buffer;
  readonly zipped: Buffer;
  readonly tag: string;
}

/** The document changes only with the server's version. */
const cacheControl = "public, max-age=300";

const zip = promisify(gzip);

/** Responds to requests for the document. */
export function serveKeptDocument({ contentType, headers = [], make }: KeptDocument): (call: Call) => Promise<Reply> {
  let made: Promise<RenderedDocument> | undefined;
  return async ({ request }) => {
    const { plain, zipped, tag } = await (made ??= makeOf(make));
    const shared = { status: 200, contentType, cacheControl };
    const fields = [...headers, "vary", "accept-encoding"];
    if (!acceptsGzip(readHeader(request, "accept-encoding") ?? "")) {
      return { ...shared, body: plain, etag: `"${tag}"`, headers: fields };
    }
    // A strong tag identifies the bytes as sent (RFC 9110 §8.8.3.3).
    return { ...shared, body: zipped, etag: `"${tag}-gzip"`, headers: [...fields, "content-encoding", "gzip"] };
  };
}

async function makeOf(make: () => string): Promise<RenderedDocument> {
  const plain = Buffer.from(make());
  const tag = createHash("sha256").update(plain).digest("base64url").slice(0, 22);
  return { plain, zipped: await zip(plain), tag };
}

function acceptsGzip(accepts: string): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(accepts);
}
