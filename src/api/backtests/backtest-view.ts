/** Backtests as clients see them. */
import { formatTimestamp } from "../../lib/clock.ts";
import type {
  BacktestCause,
  BacktestExample,
  BacktestReport,
  ReplayedDecision,
} from "../../routing/planes/backtests.ts";
import { renderSteps } from "../traffic/render-steps.ts";
import type { BacktestState } from "./backtest-jobs.ts";
import { withNames } from "./changed-names.ts";
import type { ChangedNames } from "./changed-names.ts";

export const noResults: BacktestReport = {
  tried: 0,
  same: 0,
  different: 0,
  unknown: 0,
  skipped: 0,
  gaps: 0,
  lostNodes: [],
  differentlyRecorded: 0,
  differences: {
    allowed_to_denied: 0,
    denied_to_allowed: 0,
    other_route: 0,
    other_backend: 0,
    other_status: 0,
    other_headers: 0,
  },
  unknownReasons: [],
  causes: [],
  examples: [],
  firstAt: 0,
  lastAt: 0,
};

export function viewOfBacktest(backtest: BacktestState, uri: string): Record<string, unknown> {
  const { id, status, error, createdAt, job, changeCount, names, report = noResults } = backtest;
  return {
    id,
    uri,
    status,
    error: error ?? null,
    created_at: formatTimestamp(createdAt),
    revision: job.revision,
    changed_objects: changeCount,
    since: formatTimestamp(job.since),
    until: formatTimestamp(job.until),
    first_request_at: timeOrNull(report.firstAt),
    last_request_at: timeOrNull(report.lastAt),
    tried: report.tried,
    same: report.same,
    different: report.different,
    unknown: report.unknown,
    skipped: report.skipped,
    decided_otherwise_before: report.differentlyRecorded,
    gaps: report.gaps,
    lost_nodes: report.lostNodes.map(({ id: nodeId, requests }) => ({ node_id: nodeId, requests })),
    differences: report.differences,
    unknown_reasons: report.unknownReasons,
    causes: report.causes.map((cause) => ({ ...viewOfCause(cause), object: viewOfObject(cause.object, names) })),
    examples: withNames(report.examples.map(viewOfExample), names),
  };
}

function timeOrNull(ms: number): string | null {
  return ms === 0 ? null : new Date(ms).toISOString();
}

function viewOfObject(object: BacktestCause["object"], names: ChangedNames) {
  if (object === undefined) return null;
  const { kind, id } = object;
  return { kind, id: names[id]?.insteadOfId ?? id, name: names[id]?.name ?? null };
}

function viewOfCause({ difference, module, rule, requests, sources, users, paths }: BacktestCause) {
  return {
    difference,
    module,
    rule: rule === "" ? null : rule,
    requests,
    sources,
    users,
    paths,
  };
}

function viewOfExample(example: BacktestExample) {
  const { requestId, receivedAt, method, host, path, source, user, difference, before, after } = example;
  return {
    request_id: requestId,
    received_at: new Date(receivedAt).toISOString(),
    method,
    host,
    path,
    source_ip: source,
    user: user === "" ? null : user,
    difference,
    before: viewOfDecision(before),
    after: viewOfDecision(after),
  };
}

function viewOfDecision({ outcome, status, errorCode, routeId, backendId, steps: reports }: ReplayedDecision) {
  return {
    outcome,
    status_code: status === 0 ? null : status,
    error_code: errorCode ?? null,
    route_id: routeId ?? null,
    backend_id: backendId ?? null,
    steps: renderSteps(reports),
  };
}
