/** Which captured requests a reader wants: plain data. */
import type { ExchangeOutcome, TrafficFilter } from "../routing/planes/edge-questions.ts";
import type { CapturedRequest } from "./captured-request.ts";

/** Every given condition must hold. */
export interface CaptureFilter extends TrafficFilter {
  readonly id?: string | undefined;
  readonly outcome?: ExchangeOutcome | undefined;
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
  const { outcome, status, sourceIp, user } = filter;
  const text = filter.text?.toLowerCase();
  const minAt = since === undefined ? -Infinity : since * 1000;
  const maxAt = until === undefined ? Infinity : until * 1000;
  return (record) => {
    const { receivedAt, request, decision, connection, visitor } = record;
    if (receivedAt < minAt || receivedAt >= maxAt) return false;
    if (filter.id !== undefined && record.id !== filter.id) return false;
    if (outcome !== undefined && decision.outcome !== outcome) return false;
    if (status !== undefined && decision.status !== status) return false;
    if (sourceIp !== undefined && connection.source !== sourceIp) return false;
    if (user !== undefined && visitor?.email !== user && visitor?.userId !== user) return false;
    if (!pathFits(request.path, filter.path) || !stepsFit(decision.steps, filter)) return false;
    return text === undefined || namesOf(record).toLowerCase().includes(text);
  };
}

/** @param wanted undefined for every path */
export function pathFits(path: string, wanted: string | undefined): boolean {
  if (wanted === undefined || path === wanted) return true;
  return wanted.endsWith("*") && path.startsWith(wanted.slice(0, -1));
}

export function stepsFit(
  steps: CapturedRequest["decision"]["steps"],
  { module, rule }: Pick<TrafficFilter, "module" | "rule">,
): boolean {
  if (module !== undefined && !steps.some(({ by, outcome }) => by === module && outcome !== "skipped")) return false;
  return rule === undefined || steps.some(({ decidedBy }) => decidedBy?.id === rule);
}

function namesOf({ id, request, connection, decision, visitor }: CapturedRequest): string {
  const { method, authority, path } = request;
  const who = visitor === undefined ? "" : ` ${visitor.email} ${visitor.userId}`;
  return `${id} ${method} ${authority}${path} ${connection.source} ${decision.status} ${decision.errorCode ?? ""}${who}`;
}
