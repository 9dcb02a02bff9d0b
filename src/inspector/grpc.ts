/** Decodes gRPC messages from a body (gRPC over HTTP/2, "Requests" and "Responses"; gRPC-Web). */

/** Maximum number of messages shown per body. */
const maxMessages = 500;
const prefixBytes = 5;
/** gRPC-Web sends its trailers in the body. */
const trailerFlag = 0x80;

export interface GrpcMessage {
  /** Length according to its prefix. */
  readonly bytes: number;
  readonly isCompressed: boolean;
  /** The captured part. */
  readonly content: Buffer;
}

export interface GrpcBody {
  readonly messages: readonly GrpcMessage[];
  /** Whether further messages were omitted. */
  readonly isCut: boolean;
  /** Trailer lines that the body contains. */
  readonly trailers: string;
}

/** Indexed by status code. */
const statusNames = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
];

/**
 * Whether a body of this type contains messages.
 * @param contentType lower case, without parameters
 */
export function isGrpc(contentType: string): boolean {
  return /^application\/grpc(?:-web(?:-text)?)?(?:\+|$)/.test(contentType);
}

/** @param contentType see `isGrpc` */
export function readGrpc(body: Buffer, contentType: string): GrpcBody {
  const bytes = contentType.includes("-text") ? Buffer.from(body.toString("latin1"), "base64") : body;
  const messages: GrpcMessage[] = [];
  let trailers = "";
  let at = 0;
  while (at + prefixBytes <= bytes.length && messages.length < maxMessages) {
    const first = bytes[at] as number;
    const length = bytes.readUInt32BE(at + 1);
    const content = bytes.subarray(at + prefixBytes, at + prefixBytes + length);
    if ((first & trailerFlag) === 0) messages.push({ bytes: length, isCompressed: (first & 1) !== 0, content });
    else trailers = content.toString("latin1");
    at += prefixBytes + length;
  }
  return { messages, isCut: at !== bytes.length, trailers };
}

/**
 * Returns the status of the call from the last headers, trailers or trailers in the body; undefined while they contain
 * none.
 */
export function grpcStatus(lines: string): object | undefined {
  const status = /^grpc-status: *(\d{1,3})\s*$/im.exec(lines)?.[1];
  if (status === undefined) return undefined;
  const message = /^grpc-message: *(.*?)\s*$/im.exec(lines)?.[1];
  return {
    status: Number(status),
    status_name: statusNames[Number(status)] ?? "",
    ...(message !== undefined && { message: decodeMessage(message) }),
  };
}

function decodeMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
