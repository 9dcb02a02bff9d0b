/** The table of all operations of the API. */
import type { Log } from "../lib/log.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { Networks } from "../lib/networks.ts";
import type { Store } from "../storage/store.ts";
import type { BacktestJobs } from "./backtests/backtest-jobs.ts";
import { backtestOperations } from "./backtests/backtest-operations.ts";
import { consoleLinkOperation } from "./console/link-operation.ts";
import type { Codes } from "./console/codes.ts";
import type { AppliedRevisions } from "./edges/applied.ts";
import type { Operation } from "./operation/call.ts";
import type { EdgeQueries } from "./edges/queries.ts";
import { resourceOperations } from "./crud/resource-operations.ts";
import { resourceNamed, resources } from "./operation/resource-declarations.ts";
import { declarativeOperations } from "./documents/document-operations.ts";
import type { Nodes } from "./nodes/open-nodes.ts";
import { revisionOperations } from "./history/revisions.ts";
import { retryAfterRefresh } from "./objects/refreshed.ts";
import { makePageCache } from "./objects/page-cache.ts";
import { serveKeptDocument } from "./description/kept-document.ts";
import { describeApi } from "./description/openapi.ts";
import { eventSourceOperations } from "./extra-operations/event-sources.ts";
import { healthOperations } from "./extra-operations/health-operations.ts";
import type { Readiness } from "./edges/readiness.ts";
import { deliveredEventsOperation } from "./events/delivered-operation.ts";
import { loginAddressesOperation } from "./logins/addresses-operation.ts";
import type { DevelopmentProvider } from "./logins/addresses-operation.ts";
import { inboxOperations } from "./inbox/inbox-operations.ts";
import type { Inboxes } from "./inbox/inboxes.ts";
import { problemsOperation } from "./extra-operations/problems-operation.ts";
import type { EdgeProblems } from "./edges/problems.ts";
import { referencesOperation } from "./objects/object-references.ts";
import { objectTesters } from "./testers/object-testers.ts";
import { webhookOperations } from "./testers/webhook-testers.ts";
import { policyOperations } from "./policies/policy-operations.ts";
import { explainEndpointOperation } from "./traffic/explain-endpoint.ts";
import { explainOperations } from "./traffic/explain-operations.ts";
import { exchangeOperations } from "./traffic/exchange-operations.ts";
import { endedConnections } from "./traffic/connections.ts";
import { exportOperation } from "./traffic/export-operation.ts";
import { makeTraceOperations } from "./traffic/ended-traffic.ts";
import { endedRequests } from "./traffic/requests.ts";
import { seriesOperation } from "./series/series-operation.ts";
import type { SeriesCollector } from "./series/collector.ts";
import { referenceOperation } from "./description/reference/page.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { requireBody } from "./http/body.ts";
import { limitToScope } from "./scopes/enforce-scope.ts";
import { makeBehaviours } from "./behaviours.ts";
import { limitToCloudEndpoints } from "./extra-operations/fixed-endpoints.ts";
import { rotateServiceTokenOperation } from "./extra-operations/rotate-service-token.ts";
import { rotationOperations } from "./extra-operations/rotations.ts";
import { vaultSecretOperations } from "./extra-operations/vault-secrets.ts";
import { sessionOperations } from "./extra-operations/session-commands.ts";
import type { BehaviourNeeds } from "./behaviours.ts";
import { makeViews } from "./objects/views.ts";
import type { LiveValues } from "./objects/views.ts";
import { waitOnRequest } from "./edges/wait.ts";

export interface OperationsInput {
  readonly store: Store;
  readonly needs: BehaviourNeeds;
  /** HTTPS port in public URLs. */
  readonly httpsPort: () => number;
  readonly queries: EdgeQueries;
  readonly series: Pick<SeriesCollector, "read">;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly readiness: Readiness;
  readonly applied: AppliedRevisions;
  readonly nodes: Pick<Nodes, "refresh">;
  /** Whether all OpenID issuers redirect to the same callback address. */
  readonly sharedCallback: boolean;
  readonly developmentProvider: DevelopmentProvider | undefined;
  readonly problems: Pick<EdgeProblems, "all">;
  readonly inboxes: Inboxes;
  readonly metricsFrom: Networks | undefined;
  /** Login codes of the console. Undefined if it is off. */
  readonly codes: Codes | undefined;
  readonly backtests: BacktestJobs;
}

export interface Operations {
  readonly operations: readonly Operation[];
  /** Returns the URI of an object that an error names, if the account may see it. */
  uriOf(accountId: string, kind: string, id: string, baseUrl: string): string | undefined;
}

export function makeOperations(input: OperationsInput): Operations {
  const { store, needs, httpsPort, queries, metrics, readiness } = input;
  const { liveObjects, clock, domain, idpHost } = needs;
  const names = { domain, idpHost };
  const behaviours = makeBehaviours(needs);
  const live: Record<string, LiveValues> = {};
  for (const [name, behaviour] of Object.entries(behaviours)) if (behaviour.live) live[name] = behaviour.live;
  const lookup: Store["get"] = (accountId, kind, id) =>
    (resourceNamed(kind).live ? liveObjects : store).get(accountId, kind, id);
  const views = makeViews(store, live, lookup);
  const context = { store, views, pages: makePageCache(), liveObjects, behaviours, clock, names, httpsPort };
  const operations: Operation[] = [
    ...resources
      .flatMap((resource) => resourceOperations(resource, context))
      .map((one) => (one.resource?.name === "node" ? refreshNodesFirst(one, input.nodes) : one))
      .map((one) => (one.resource?.name === "cloud_endpoint" ? limitToCloudEndpoints(one, liveObjects) : one)),
    ...sessionOperations(liveObjects, queries, input.log),
    ...vaultSecretOperations(context),
    rotateServiceTokenOperation(context),
    ...rotationOperations(context),
    ...eventSourceOperations(context),
    ...revisionOperations(context),
    seriesOperation({ series: input.series, queries, clock }),
    ...inboxOperations({ store, inboxes: () => input.inboxes, log: input.log }),
    exportOperation(queries, clock),
    ...makeTraceOperations(endedRequests, queries, clock),
    ...makeTraceOperations(endedConnections, queries, clock),
    ...exchangeOperations({ liveObjects, queries, log: input.log }),
    ...explainOperations({ store, queries }),
    explainEndpointOperation({ store, liveObjects, queries }),
    ...policyOperations(store, clock, input.log),
    ...objectTesters(store, () => operations),
    ...webhookOperations(store, clock),
    referencesOperation(context),
    problemsOperation(context, input.problems),
    loginAddressesOperation(store, { ...input, names, httpsPort }),
    deliveredEventsOperation(store, () => needs.events),
    ...declarativeOperations(context),
    ...backtestOperations(context, input.backtests),
    consoleLinkOperation(input.codes, store),
    ...healthOperations({ metrics, queries, readiness, metricsFrom: input.metricsFrom }),
  ];
  return {
    operations: addDescriptions(operations, input.codes !== undefined).map((one) =>
      waitOnRequest(retryAfterRefresh(limitToScope(requireBody(one), store, liveObjects), store), input.applied),
    ),
    uriOf(accountId, kind, id, baseUrl) {
      const reader = resourceNamed(kind).live ? liveObjects : store;
      const object = reader.get(accountId, kind, id);
      return object && views.uri(object, baseUrl);
    },
  };
}

/** Returns the operation with a refresh of the nodes before it runs. */
function refreshNodesFirst(operation: Operation, nodes: Pick<Nodes, "refresh">): Operation {
  return {
    ...operation,
    async run(call) {
      await nodes.refresh();
      return await operation.run(call);
    },
  };
}

/** Adds the operations that describe all others. */
function addDescriptions(allOthers: readonly Operation[], linksConsole: boolean): readonly Operation[] {
  const describe = (): JsonSchema => describeApi(operations);
  const operations: readonly Operation[] = [
    ...allOthers,
    {
      id: "getOpenAPI",
      method: "GET",
      path: "/openapi.json",
      summary: "This description.",
      produces: "application/json",
      exampleReply: { openapi: "3.1.0", info: { title: "Postern management API", version: "2" }, paths: {} },
      takes: "nothing",
      open: true,
      tagged: true,
      status: 200,
      run: serveKeptDocument({ contentType: "application/json", make: () => JSON.stringify(describe()) }),
    },
    referenceOperation(describe, linksConsole),
  ];
  return operations;
}

/** Returns the table without dependencies, to be described and not run. */
export function describedOperations(): readonly Operation[] {
  const nothing = {} as never;
  return makeOperations({
    store: nothing,
    needs: nothing,
    httpsPort: nothing,
    queries: nothing,
    series: nothing,
    log: nothing,
    metrics: nothing,
    readiness: nothing,
    metricsFrom: undefined,
    applied: nothing,
    nodes: nothing,
    problems: nothing,
    inboxes: nothing,
    sharedCallback: false,
    developmentProvider: undefined,
    codes: nothing,
    backtests: nothing,
  }).operations;
}
