/** Which captured requests a reader wants: plain data. */
import type { Outcome } from "../routing/planes/questions.ts";
import type { CapturedRequest } from "./record.ts";

/** Every given condition must hold. */
export interface CaptureFilter {
  readonly outcome?: Outcome | undefined;
  readonly status?: number | undefined;
  /** Name of a module that acted, such as `ip_restriction`. */
  readonly module?: string | undefined;
  /** Id of the rule or object that decided a step. */
  readonly rule?: string | undefined;
  readonly sourceIp?: string | undefined;
  /** A canonical path, or the start of one with `*` at its end. */
  readonly path?: string | undefined;
  /** E-mail address or id of the visitor. */
  readonly user?: string | undefined;
  /** A text in the id, method, host, path, source, status, error or user, in any case. */
  readonly text?: string | undefined;
}

export interface CaptureQuery {
  readonly accountId: string;
  /** Arrived at or after this time, milliseconds since 1970. */
  readonly since?: number | undefined;
  /** Arrived before this time. */
  readonly until?: number | undefined;
  readonly filter?: CaptureFilter | undefined;
}

/** Returns a function that decides whether a record is wanted. */
export function matcherOf({
  since,
  until,
  filter = {},
}: Omit<CaptureQuery, "accountId">): (record: CapturedRequest) => boolean {
  const { outcome, status, module, rule, sourceIp, path, user } = filter;
  const text = filter.text?.toLowerCase();
  const minAt = since === undefined ? -Infinity : since * 1000;
  const maxAt = until === undefined ? Infinity : until * 1000;
  const start = path?.endsWith("*") === true ? path.slice(0, -1) : undefined;
  return (record) => {
    const { receivedAt, request, decision, connection, visitor } = record;
    if (receivedAt < minAt || receivedAt >= maxAt) return false;
    if (outcome !== undefined && decision.outcome !== outcome) return false;
    if (status !== undefined && decision.status !== status) return false;
    if (sourceIp !== undefined && connection.source !== sourceIp) return false;
    if (start !== undefined ? !request.path.startsWith(start) : path !== undefined && request.path !== path)
      return false;
    if (user !== undefined && visitor?.email !== user && visitor?.userId !== user) return false;
    if (module !== undefined && !decision.steps.some(({ by, outcome: of }) => by === module && of !== "skipped"))
      return false;
    if (
      rule !== undefined &&
      !decision.steps.some(({ decidedBy, reason }) => decidedBy?.id === rule || reason.includes(rule))
    )
      return false;
    return text === undefined || namesOf(record).toLowerCase().includes(text);
  };
}

function namesOf({ id, request, connection, decision, visitor }: CapturedRequest): string {
  const { method, authority, path } = request;
  const who = visitor === undefined ? "" : ` ${visitor.email} ${visitor.userId}`;
  return `${id} ${method} ${authority}${path} ${connection.source} ${decision.status} ${decision.errorCode ?? ""}${who}`;
}
