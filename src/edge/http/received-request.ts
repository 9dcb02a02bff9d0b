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

/** A request head as a protocol hands it to the pipeline. */
export class ReceivedRequest implements RequestHead {
  readonly httpVersion: "1.0" | "1.1" | "2";
  readonly method: string;
  readonly scheme: "https" | "http";
  /** Path and query as sent, origin form: checked to be visible ASCII without "#". */
  readonly target: string;
  /** Host, lower case, without port and trailing dot. */
  readonly host: string;
  /** Port of the Host field or of `:authority`; 0 when it names none. */
  readonly port: number;
  /** The Host field, or `:authority`, as sent. */
  readonly hostField: string;
  readonly headers: FieldTable;
  /** Length of the body; 0 without one, -1 when only its end will tell. */
  bodyLength: number;
  /** The client asks for a WebSocket. */
  readonly websocket: boolean;
  /** What the client offers to turn the exchange into, "websocket" or other protocols; "" for nothing. */
  readonly upgrade: string;
  /** `Expect: 100-continue`, and no other expectation (RFC 9110 §10.1.1). */
  readonly expectsContinue: boolean;
  /** Set by the pipeline before anyone else sees them. */
  path = "";
  query = "";
  /** Path and query in the client's spelling, without dot segments: set by the pipeline. */
  spelled = "";
  /** The path has encoded slashes, or bytes that are not UTF-8. */
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
