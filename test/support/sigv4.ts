/**
 * AWS' signature, version 4, recomputed from the received request. It follows AWS' description and shares no code with
 * our signer.
 */
import { createHash, createHmac } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

export interface SignedRequest {
  readonly method: string;
  /** Path and query, both already in canonical form. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface SignatureExpectation {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly region: string;
  readonly service: string;
  readonly nowMs: number;
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();
const form =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;

/** Returns the fault in the signature of a request; undefined if the signature is valid. */
export function signatureFault(request: SignedRequest, expected: SignatureExpectation): string | undefined {
  const { method, target, headers, body } = request;
  const match = form.exec(headers.authorization ?? "");
  if (!match) return "the Authorization header has another form";
  const [, keyId, day = "", region = "", service = "", names = "", signature] = match;
  if (keyId !== expected.accessKeyId) return `the key is ${keyId}`;
  if (region !== expected.region || service !== expected.service) return `the scope is ${region} ${service}`;
  const date = String(headers["x-amz-date"]);
  const at = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
  if (!(Math.abs(at - expected.nowMs) < 300_000) || !date.startsWith(day)) return `the date is ${date}`;
  if (headers["x-amz-security-token"] !== expected.sessionToken) return "the session token is another";
  const signed = names.split(";");
  for (const name of Object.keys(headers)) {
    const must = name === "host" || name === "content-type" || name.startsWith("x-amz-");
    if (must && !signed.includes(name)) return `${name} is not signed`;
  }
  if (signed.join() !== signed.toSorted().join()) return "the names are not in order";
  const [path, query = ""] = target.split("?");
  const lines = signed.map((name) => `${name}:${String(headers[name]).trim().replaceAll(/ +/g, " ")}\n`);
  const canonical = [method, path, query, lines.join(""), names, sha256(body)].join("\n");
  const toSign = ["AWS4-HMAC-SHA256", date, `${day}/${region}/${service}/aws4_request`, sha256(canonical)].join("\n");
  const parts = [day, region, service, "aws4_request"];
  const key = parts.reduce<string | Buffer>((key, part) => hmac(key, part), `AWS4${expected.secretAccessKey}`);
  const right = hmac(key, toSign).toString("hex");
  return right === signature ? undefined : `the signature should be ${right}`;
}
