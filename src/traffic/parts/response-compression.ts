/** Compresses a response body according to the client's Accept-Encoding. Shared by the module and the policy action. */
import { FieldBlock } from "../../lib/field-block.ts";
import type { Exchange, ResponseHead } from "../exchange.ts";
import type { HeaderFields } from "../header-fields.ts";
import type { Step } from "../step.ts";
import { chooseCoding } from "./accept-encoding.ts";
import type { Coding } from "./accept-encoding.ts";
import { makeCompressor } from "./compressor.ts";
import { readOnlyValue, repeated } from "./only-value.ts";

export interface Compressed {
  /** One clause: the result, or why the body was not compressed. */
  readonly reason: string;
  readonly coding?: Coding;
  readonly isEncoded: boolean;
}

const skipCompression = (reason: string, isEncoded = false): Compressed => ({ reason, isEncoded });
const noBody = skipCompression("the response has no body");
const partial = skipCompression("the body is a part of another");
const encoded = skipCompression("the body is encoded already", true);
const untouchable = skipCompression("Cache-Control forbids it");
const incompressible = skipCompression("bodies of this type do not shrink");
const reflecting = skipCompression("the visitor is logged in and the response may repeat the request's input");
const unwanted = skipCompression("the client accepts none of our encodings");
const done: Readonly<Record<Coding, Compressed>> = {
  zstd: { reason: "compressed with zstd", coding: "zstd", isEncoded: false },
  br: { reason: "compressed with br", coding: "br", isEncoded: false },
  gzip: { reason: "compressed with gzip", coding: "gzip", isEncoded: false },
  deflate: { reason: "compressed with deflate", coding: "deflate", isEncoded: false },
};

/** Added to every compressed response; encoded once. */
const varies = new FieldBlock(["vary", "accept-encoding"]);
const nameCoding = (coding: Coding): FieldBlock => new FieldBlock(["content-encoding", coding]);
const namesCoding: Readonly<Record<Coding, FieldBlock>> = {
  zstd: nameCoding("zstd"),
  br: nameCoding("br"),
  gzip: nameCoding("gzip"),
  deflate: nameCoding("deflate"),
};

/** @param among codings to choose from; all by default */
export function compressResponse(
  request: Exchange["request"],
  response: ResponseHead | undefined,
  steps: readonly Step[],
  among?: readonly Coding[],
): Compressed {
  if (!response || request.method === "HEAD") return noBody;
  const { status, headers } = response;
  if (status < 200 || status === 204 || status === 205 || status === 304) return noBody;
  const length = headers.get("content-length");
  if (length === "0") return noBody;
  if (status === 206 || headers.has("content-range")) return partial;
  const isNamed = headers.has("content-encoding");
  if (isNamed && isEncoded(headers)) return encoded;
  if (headers.has("cache-control") && forbidsChange(headers)) return untouchable;
  const type = readOnlyValue(headers, "content-type");
  if (type === repeated || !isCompressible(type)) return incompressible;
  addVary(headers);
  // An attacker who controls part of a compressed page can deduce the rest from its length (BREACH; control D6).
  if (request.query !== "" && steps.some(isLogin)) return reflecting;
  const accepts = request.acceptedCodings ?? request.headers.getAll("accept-encoding");
  const chosen = chooseCoding((accepts.length === 1 ? accepts[0] : accepts.join(",")) || undefined, among);
  if (!chosen) return unwanted;
  headers.delete("content-length");
  headers.delete("content-md5");
  headers.delete("content-digest");
  headers.delete("accept-ranges");
  if (isNamed) headers.delete("content-encoding");
  headers.appendBlock(namesCoding[chosen]);
  const etag = readOnlyValue(headers, "etag");
  // Compression changes the bytes, so a strong tag would be wrong (RFC 9110 §8.8.3.3).
  if (etag === repeated) headers.delete("etag");
  else if (etag?.startsWith('"')) headers.set("etag", `W/${etag}`);
  response.transform(makeCompressor(chosen, length === undefined ? undefined : Number(length)));
  return done[chosen];
}

/** Whether a real content coding is named. */
function isEncoded(headers: HeaderFields): boolean {
  const codings = headers.getAll("content-encoding").flatMap((value) => value.split(","));
  return codings.some((coding) => coding.trim().toLowerCase() !== "identity");
}

function forbidsChange(headers: HeaderFields): boolean {
  return /(?:^|[\s,])no-transform(?:$|[\s,])/i.test(headers.getAll("cache-control").join(","));
}

function isLogin({ by, outcome }: Step): boolean {
  return (by === "oauth" || by === "oidc" || by === "saml") && outcome !== "skipped";
}

function addVary(headers: HeaderFields): void {
  const present = !headers.has("vary") ? "" : headers.getAll("vary").join(",").toLowerCase();
  if (!/(?:^|[\s,])(?:\*|accept-encoding)(?:$|[\s,])/.test(present)) headers.appendBlock(varies);
}

/** Text formats. Images, archives, audio and video are already compressed. */
function isCompressible(contentType: string | undefined): boolean {
  if (contentType === undefined) return false;
  if (compressible.has(contentType)) return true;
  const type = (contentType.split(";", 1)[0] as string).trim().toLowerCase();
  return type.startsWith("text/") || compressible.has(type) || /^[a-z]+\/[\w.-]+\+(?:json|xml|text|yaml)$/.test(type);
}

const compressible = new Set([
  "application/dash+xml",
  "application/graphql",
  "application/javascript",
  "application/json",
  "application/jsonl",
  "application/ld+json",
  "application/manifest+json",
  "application/ndjson",
  "application/rtf",
  "application/sql",
  "application/toml",
  "application/vnd.apple.mpegurl",
  "application/vnd.ms-fontobject",
  "application/wasm",
  "application/x-javascript",
  "application/x-ndjson",
  "application/x-sh",
  "application/x-www-form-urlencoded",
  "application/x-yaml",
  "application/xml",
  "application/yaml",
  "font/otf",
  "font/ttf",
  "image/bmp",
  "image/svg+xml",
  "image/x-icon",
]);
