import { stepsFit } from "../../capture/query.ts";
import { codeOf, stepReports } from "../../routing/planes/edge-questions.ts";
import type { ConnectionTrace } from "../../routing/planes/edge-questions.ts";
import { protocolOf } from "../connections/closed-connection.ts";
import type { ClosedConnection } from "../connections/closed-connection.ts";
import type { TraceKind } from "./traces.ts";

export const connectionTraces: TraceKind<ClosedConnection, ConnectionTrace> = {
  accountOf: ({ site }) => site.accountId,
  isEnded: ({ outcome }) => outcome !== "served",
  fits: ({ source, steps }, filter) =>
    [filter.status, filter.path, filter.user].every((one) => one === undefined) &&
    (filter.sourceIp === undefined || filter.sourceIp === source) &&
    stepsFit(steps, filter),
  namesOf: ({ id, serverName = "", port = "", source }) => `${id} ${serverName}:${port} ${source}`,
  traceOf({ id, site, source, facts, steps, outcome, bytesIn, bytesOut }, endedAt) {
    return {
      id,
      endedAt,
      protocol: protocolOf(site),
      serverName: (facts?.tls ?? facts?.hello)?.serverName || undefined,
      port: facts?.localPort,
      source,
      siteId: site.id,
      outcome,
      errorCode: codeOf(steps.at(-1)?.answer),
      durationMs: facts ? Math.max(0, endedAt - facts.startedAt) : 0,
      bytesIn,
      bytesOut,
      steps: stepReports(steps),
    };
  },
};
