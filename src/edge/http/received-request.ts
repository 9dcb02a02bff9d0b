import type { FieldTable } from "../../http1/field-table.ts";
import type { RequestHead } from "../../traffic/exchange.ts";

type LaterMembers =
  | "path"
  | "query"
  | "spelled"
  | "isEncoded"
  | "rewritten"
  | "upstreamTarget"
  | "acceptedCodings"
  | "trailers";

/** A request head as a protocol passes it to the pipeline. */
export class ReceivedRequest implements RequestHead {
  readonly httpVersion: "1.0" | "1.1" | "2";
  readonly method: string;
  readonly scheme: "https" | "http";
  /** Path and query as sent, in origin form: visible ASCII without "#". */
  readonly target: string;
  /** Host in lower case, without port and trailing dot. */
  readonly host: string;
  /** Port of the Host field or of `:authority`. 0 without a port. */
  readonly port: number;
  /** The Host field, or `:authority`, as sent. */
  readonly hostField: string;
  readonly headers: FieldTable;
  /** Length of the body, bytes. 0 without a body, -1 if unknown. */
  bodyLength: number;
  /** Whether the client requests a WebSocket. */
  readonly websocket: boolean;
  /** Protocols that the client offers to upgrade to, such as "websocket". "" for none. */
  readonly upgrade: string;
  /** Whether `Expect: 100-continue` is the only expectation (RFC 9110 §10.1.1). */
  readonly expectsContinue: boolean;
  /** Set by the pipeline before other code reads them. */
  path = "";
  query = "";
  /** Path and query in the client's spelling, without dot segments. Set by the pipeline. */
  spelled = "";
  /** Whether the path has encoded slashes or bytes that are not UTF-8. */
  isEncoded = false;
  rewritten: string | undefined;
  acceptedCodings: readonly string[] | undefined;
  trailers: FieldTable | undefined;

  constructor(head: Omit<ReceivedRequest, LaterMembers>) {
    this.httpVersion = head.httpVersion;
    this.method = head.method;
    this.scheme = head.scheme;
    this.target = head.target;
    this.host = head.host;
    this.port = head.port;
    this.hostField = head.hostField;
    this.headers = head.headers;
    this.bodyLength = head.bodyLength;
    this.websocket = head.websocket;
    this.upgrade = head.upgrade;
    this.expectsContinue = head.expectsContinue;
  }

  /** Path and query that the upstream receives. */
  get upstreamTarget(): string {
    return this.rewritten ?? this.spelled;
  }
}
