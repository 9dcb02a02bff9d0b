/** The control plane: storage, the management API, and the lines to the edges, started and stopped together. */
import { hash, X509Certificate } from "node:crypto";
import type { AddressInfo } from "node:net";
import { runUnattended } from "../lib/boundary.ts";
import type { Clock } from "../lib/clock.ts";
import type { TellLogin } from "../identity/sessions/login-events.ts";
import { Refusal } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { checkServerNames } from "../lib/server-names.ts";
import { makeMetrics } from "../lib/metrics.ts";
import type { Metrics } from "../lib/metrics.ts";
import { sumMetrics } from "../lib/metrics-sum.ts";
import type { SpanRecorder } from "../lib/span-recorder.ts";
import { networksOf } from "../lib/networks.ts";
import type { Downward, Link, Problem, Relayed, Upward } from "../routing/planes/messages.ts";
import { exportFailures } from "../lib/boundary.ts";
import { useNameServers } from "../outbound/names/resolve-name.ts";
import { exportOutboundCounters } from "../outbound/outbound-counters.ts";
import type { ControlPlaneSettings } from "../settings/control-plane.ts";
import type { BacktestRunner } from "../routing/planes/backtests.ts";
import type { RecordingNode } from "../routing/planes/captured-blocks.ts";
import type { AgentEndpoint } from "../routing/planes/edge-questions.ts";
import { openStore } from "../storage/opening/open-store.ts";
import { storedKinds } from "../storage/opening/stored-kinds.ts";
import type { DerivedKey, Store } from "../storage/store.ts";
import type { BehaviourNeeds } from "./behaviours.ts";
import { keptMs, makeBacktestJobs } from "./backtests/backtest-jobs.ts";
import type { BacktestJobs } from "./backtests/backtest-jobs.ts";
import { recordingNodes } from "./backtests/other-nodes.ts";
import { withoutRecords } from "./backtests/without-records.ts";
import { openConsole } from "./console/console.ts";
import type { ConsoleOptions } from "./console/console.ts";
import { passkeyOrigin } from "./console/passkeys.ts";
import { makePeople } from "./console/admitted-people.ts";
import { makeTeamChecks } from "./console/team-checks.ts";
import { openTeamLogin } from "./console/team-login.ts";
import { makeToldLogOuts } from "./console/told-log-outs.ts";
import { combineApplied, trackApplied } from "./edges/applied.ts";
import { keepLastUses } from "./keys/last-uses.ts";
import type { LastUses } from "./keys/last-uses.ts";
import { openKeyRing } from "./http/authenticate.ts";
import type { KeyRing } from "./http/authenticate.ts";
import { Replica } from "../directory/replica.ts";
import { keepDirectory } from "./edges/directory.ts";
import { makeEdges } from "./edges/edges.ts";
import type { EdgeLine, EdgeObserver, Edges } from "./edges/edges.ts";
import { trackProblems } from "./edges/problems.ts";
import { keepTicketSecrets } from "./edges/ticket-secrets.ts";
import type { EdgeProblems } from "./edges/problems.ts";
import { shareProblems } from "./edges/shared-problems.ts";
import type { SharedProblems } from "./edges/shared-problems.ts";
import { makeEdgeQueries } from "./edges/queries.ts";
import type { EdgeQueries } from "./edges/queries.ts";
import { openDomainChecks } from "./domain-proof/domain-checks.ts";
import { makeResolveTxt } from "./domain-proof/resolve-txt.ts";
import type { DevelopmentProvider } from "./logins/addresses-operation.ts";
import type { ResolveTxt } from "./domain-proof/resolve-txt.ts";
import { startEvents } from "./events/dispatcher.ts";
import type { EventOptions, Events } from "./events/dispatcher.ts";
import { operatorKeys } from "./events/targets/operator-keys.ts";
import { sweepInvitations } from "./keys/expired-invitations.ts";
import { keepJoiningAgents } from "./keys/joining-agents.ts";
import { ensureFirstTokens } from "./keys/first-tokens.ts";
import type { FirstTokens } from "./keys/first-tokens.ts";
import { answerAgentInboxes } from "./inbox/agent-inboxes.ts";
import { openInboxes } from "./inbox/inboxes.ts";
import { openLiveObjects } from "./edges/live-objects.ts";
import { endGoneLogins } from "./logins/gone-logins.ts";
import { keepLoginKeys } from "./logins/login-keys.ts";
import { keepIdpDomain } from "./logins/idp-domain.ts";
import { keepSamlMetadata } from "./logins/saml-metadata-keeper.ts";
import { keepUsedMessages } from "./logins/used-message-book.ts";
import { openMetadataDocuments } from "./authorization/metadata-documents.ts";
import { keepAuthorizations } from "./authorization/book.ts";
import { keepLoginBook } from "./logins/login-book.ts";
import { shareKeys } from "./nodes/shared-keys.ts";
import type { SharedKeys, ServerKeys } from "./nodes/shared-keys.ts";
import { openNodeDirectory } from "./nodes/node-directory.ts";
import type { NodeEntriesOptions } from "./nodes/node-entries.ts";
import type { NodeDirectory } from "./nodes/node-directory.ts";
import { revocationsIn, watchRevocations } from "./nodes/revoked-tokens.ts";
import { openNodes } from "./nodes/open-nodes.ts";
import { watchIsolation } from "./nodes/isolation.ts";
import type { Isolation } from "./nodes/isolation.ts";
import { watchStanding } from "./nodes/watch-standing.ts";
import type { NodeStanding } from "./nodes/watch-standing.ts";
import { openMcp } from "./mcp/entrance.ts";
import type { McpEntrance } from "./mcp/entrance.ts";
import { replyWithDocs } from "./mcp/docs.ts";
import type { RunInner } from "./http/inner-calls.ts";
import { makeOperations } from "./operations.ts";
import type { OperationsInput } from "./operations.ts";
import type { Operation } from "./operation/call.ts";
import { recordWrites } from "./operation/recorded.ts";
import type { DnsChallenges } from "../acme/dns/challenges.ts";
import { openDnsChallenges } from "./provisioning/dns.ts";
import { keepServerWildcard } from "./provisioning/server-wildcard.ts";
import { reportJobs } from "./provisioning/job-problems.ts";
import { openProvisioning } from "./provisioning/provisioning.ts";
import type { Provisioning, ProvisioningOptions } from "./provisioning/provisioning.ts";
import { collectSeries } from "./series/collector.ts";
import { startPublishing } from "./edges/start-publishing.ts";
import { openSourceRestriction } from "./http/source-restriction.ts";
import { trackReadiness } from "./edges/readiness.ts";
import type { TrackedReadiness } from "./edges/readiness.ts";
import { startServer } from "./http/api-server.ts";
import type { ApiLimits } from "./http/api-server.ts";

/** The operator's settings and the other dependencies of a control plane. */
export interface ControlPlaneOptions extends ControlPlaneSettings {
  /** 32 bytes each. The first seals stored secrets; all of them open secrets. */
  readonly sealingKey: Buffer | readonly Buffer[];
  /** Shown to other nodes. */
  readonly version?: string;
  /** Offered to users who create routes. Undefined if it is off. */
  readonly developmentProvider?: DevelopmentProvider | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** See `ServerOptions`. */
  readonly refused?: ReadonlySet<number>;
  /** Tokens that must work. On a first start, missing tokens are created. */
  readonly bootstrap: { readonly apiKey?: string; readonly authtoken?: string };
  readonly limits?: Partial<Omit<ApiLimits, "requestsPerMinute">>;
  /** Looks up TXT records. Default: the system's name servers. */
  readonly resolveTxt?: ResolveTxt;
  /** Keys of this server, shared with the other nodes if there are any. */
  readonly serverKeys?: ServerKeys | undefined;
  /** Called when something has requested `/readyz`, at most every 10 seconds. */
  readonly readinessChecked?: () => void;
  /** Runs backtests of this node's captured requests. Default: there are no captured requests. */
  readonly backtests?: (captureKeys: () => readonly DerivedKey[]) => BacktestRunner;
  /** Records spans of the API's writes, deliveries and jobs, and sends the metrics; absent without telemetry. */
  readonly telemetry?: ControlPlaneTelemetry | undefined;
  /** Authorities of the certificates of event receivers, PEM. Default: the system's. */
  readonly eventsCa?: string;
}

export interface ControlPlaneTelemetry {
  /** Absent if traces are not sent. */
  readonly recorder: SpanRecorder | undefined;
  /** Sends the metrics regularly. @param read returns Prometheus' text format */
  sendMetrics(read: () => Promise<string>): { cancel(): void };
}

export interface ControlPlane {
  readonly address: AddressInfo;
  readonly apiUrl: string;
  /** Tokens, if this start created the first account. They are never shown again. */
  readonly firstStart?: FirstTokens;
  /** Keys that all nodes share. Undefined for a server without a cluster. */
  readonly sharedKeys?: SharedKeys;
  /** Keys from which those of captured requests derive, oldest first. */
  readonly captureKeys: readonly DerivedKey[];
  /** Shows the operator's account a condition of the server. Without a message, it is over. */
  tellProblem(problem: { readonly part: string; readonly message: string | undefined }): void;
  /** Completes current requests, then closes the database. */
  stop(): Promise<void>;
}

/** Purpose of the keys of captured requests. */
const capturePurpose = "captured requests";
const defaultLimits = { wrongKeysPerMinute: 60, maxConnections: 4_096 };

/**
 * Starts the control plane of the edges at the other ends of `links`, one edge per link. Rejects if the database cannot
 * be opened or the address is in use.
 */
export async function startControlPlane(
  options: ControlPlaneOptions,
  links: readonly Link<Downward, Upward>[],
): Promise<ControlPlane> {
  checkServerNames(options);
  const dns = openDnsChallenges(options, options.domain, options.clock);
  useNameServers(options.nameServer);
  const store = await openStore({
    ...options,
    dataDirectory: options.data,
    declarations: storedKinds,
  });
  try {
    const firstStart = await ensureFirstTokens(store, options.bootstrap, options.log);
    const sharedKeys = store.node && options.serverKeys && (await shareKeys(store, options.serverKeys, options.clock));
    const served = await serveControlPlane(
      { ...options, serverKeys: sharedKeys ?? options.serverKeys, dns },
      store,
      links,
    );
    const captureKeys = store.derivedKeys(capturePurpose);
    return { ...served, captureKeys, ...(firstStart && { firstStart }), ...(sharedKeys && { sharedKeys }) };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function serveControlPlane(
  options: ControlPlaneOptions & { readonly dns: DnsChallenges | undefined },
  store: Store,
  links: readonly Link<Downward, Upward>[],
): Promise<Omit<ControlPlane, "captureKeys">> {
  const { clock, log, telemetry } = options;
  const metrics = makeMetrics();
  const edges = makeEdges(links);
  /** Agents of this node. */
  const agents = new Replica<EdgeLine>({ isIndexed: true });
  const allAgents = () => (directory ? [agents, directory.agents] : [agents]);
  const liveObjects = openLiveObjects(store, allAgents, () => nodes.all());
  const lastUses = keepLastUses(store, clock, log);
  let directory: NodeDirectory | undefined;
  const queries = makeEdgeQueries(edges, clock, () => directory);
  const applied = combineApplied(trackApplied(clock), (revision, timeoutMs) =>
    queries.reached({ revision, change: 0 }, timeoutMs),
  );
  const provisioning = await openCertificates(options, { store, applied, metrics });
  const sharedProblems = shareProblems(store.node);
  const problems = problemsOf(store, log, sharedProblems);
  const numbers = showNumbers(metrics, { store, applied, edges, agents, problems, queries, telemetry });
  let { apiUrl } = options;
  let operations: readonly Operation[] = [];
  const nodes = openNodes({
    store,
    queries,
    agents,
    applied,
    version: options.version ?? "",
    region: options.region,
    apiUrl: () => apiUrl ?? "",
    peerAddress: () => directory?.address(),
    clock,
  });
  const events = await openEvents(options, { store, metrics, edges, baseUrl: () => apiUrl ?? "" });
  const series = collectSeries({ dataDirectory: options.data, nodeId: store.node?.id ?? "", clock, log, metrics });
  const inboxes = openInboxes({ store, settings: options, edges, clock, log, metrics, tell: events.tellInbox });
  const readiness = trackReadiness(store, metrics, { clock, checked: () => options.readinessChecked?.() });
  const draining = watchDraining();
  const logins = await keepLogins(options, store, metrics, events.tellLogin, lastUses);
  const { standing, isolation } = watchPlace(options, store, edges, queries, readiness, () => directory);
  directory = await followNodes(options, store, edges, queries, dispatchEntries(events, sharedProblems, isolation));
  const tickets = keepTicketSecrets({ edges, node: store.node, clock, log });
  edges.follow([
    draining,
    ...logins.watchers,
    applied,
    readiness,
    startPublishing(store, edges),
    events,
    inboxes,
    answerAgentInboxes({ store, inboxes, operations: () => operations, clock, log }),
    problems,
    queries,
    standing,
    series,
    tickets,
    logins.book,
    keepDirectory({ lineCount: links.length, nodes: directory, agents }),
  ]);
  const foundation = {
    backtests: openBacktests(options, store, queries, () => recordingNodes(directory?.linesByNode(), queries)),
    edges,
    metrics,
    queries,
    series,
    readiness,
    draining: draining.begun,
    applied,
    nodes,
    problems,
    inboxes,
    liveObjects,
    keys: openKeyRing(store, clock, lastUses),
    lastUses,
    events,
    provisioning,
    reachedAt: () => apiUrl ?? "",
  };
  const api = await startApi(options, store, foundation);
  ({ operations } = api);
  apiUrl ??= urlOf(api.address);
  return {
    address: api.address,
    apiUrl,
    tellProblem: ({ part, message }) => problems.tell(ofServer(store, part, message)),
    async stop() {
      for (const one of [readiness, nodes, tickets, isolation, numbers]) one.stop();
      await logins.stop();
      applied.stop();
      await Promise.all([provisioning.stop(), api.stop()]);
      await events.stop();
      await Promise.all([series.stop(), inboxes.stop(), lastUses.stop()]);
      await store.close();
    },
  };
}

function openBacktests(
  { backtests, clock, log }: ControlPlaneOptions,
  store: Store,
  queries: Pick<EdgeQueries, "agentEndpoints">,
  otherNodes: () => readonly RecordingNode[],
): BacktestJobs {
  const runner = backtests?.(() => store.derivedKeys(capturePurpose)) ?? withoutRecords;
  const endpoints = (accountId: string): Promise<readonly AgentEndpoint[]> => queries.agentEndpoints(accountId);
  return makeBacktestJobs({ runner, others: otherNodes, endpoints, shared: store.node?.results(keptMs), clock, log });
}

function urlOf({ address, port, family }: AddressInfo): string {
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

async function openCertificates(
  options: ControlPlaneOptions & { readonly dns: DnsChallenges | undefined },
  foundation: Pick<ProvisioningOptions, "store" | "applied" | "metrics">,
): Promise<Provisioning> {
  const { dns, clock, log, domain, acmeAgree } = options;
  if (dns && acmeAgree) await keepServerWildcard({ store: foundation.store, clock, log, domain });
  return openProvisioning({ ...foundation, settings: options, dns, clock, log, recorder: options.telemetry?.recorder });
}

async function openEvents(
  options: ControlPlaneOptions,
  foundation: Pick<EventOptions, "store" | "metrics" | "edges" | "baseUrl">,
): Promise<Events> {
  return await startEvents({
    ...foundation,
    dataDirectory: options.data,
    allowPrivate: options.allowLocalUpstreams,
    aws: operatorKeys(options),
    clock: options.clock,
    log: options.log,
    recorder: options.telemetry?.recorder,
    ca: options.eventsCa,
  });
}

/** Dependencies of the API besides the store. */
interface Foundation
  extends
    Pick<
      OperationsInput,
      "queries" | "series" | "metrics" | "readiness" | "applied" | "nodes" | "problems" | "inboxes" | "backtests"
    >,
    Pick<BehaviourNeeds, "liveObjects" | "lastUses" | "events" | "provisioning"> {
  readonly keys: KeyRing;
  readonly edges: Edges;
  /** URL at which the API is reached, once it has started. */
  readonly reachedAt: () => string;
  /** Resolves when the API drains. */
  readonly draining: Promise<void>;
}

async function startApi(options: ControlPlaneOptions, store: Store, foundation: Foundation) {
  const { clock, log, apiUrl, loginIssuer } = options;
  const { edges, metrics, queries, series, readiness, applied, nodes, problems, liveObjects } = foundation;
  const { keys, lastUses, events, provisioning, reachedAt } = foundation;
  const reserving = makeReservationRules(options, store);
  const behaviourParts = {
    clock,
    ...reserving,
    liveObjects,
    lastUses,
    events,
    provisioning,
    joinPlace: joinPlaceOf(options, edges),
    loginIssuer,
    invitationOrigin: invitationOriginOf(options, reachedAt),
  };
  const front =
    options.console === "on"
      ? openConsole({
          store,
          keys,
          clock,
          queries,
          apiUrl,
          reachedAt,
          team: teamOf(options, store),
          documents: openMetadataDocuments({ clock, allowLocal: options.allowLocalUpstreams, ca: options.loginCa }),
          redirectUris: options.consoleRedirectUris,
        })
      : undefined;
  const all = makeOperations({
    httpsPort: () => edges.httpsPort() ?? options.httpsPort ?? (options.httpsListen.port || 443),
    store,
    needs: behaviourParts,
    queries,
    series,
    log,
    metrics,
    readiness,
    metricsFrom: networksOf(options.metricsFrom),
    problems,
    inboxes: foundation.inboxes,
    applied,
    nodes,
    sharedCallback: options.oidcSharedCallback,
    developmentProvider: options.developmentProvider,
    codes: front?.codes,
    backtests: foundation.backtests,
  });
  const made = { ...all, operations: recordWrites(all.operations, options.telemetry?.recorder, clock) };
  const mcp = (run: RunInner): McpEntrance =>
    (entrance = openMcp(run, { ...options, keys, applications: front?.applications, store }));
  let entrance: McpEntrance | undefined;
  const server = await startServer({
    ...(front && { front }),
    entrancesWith: (run) => [mcp(run).reply, replyWithDocs],
    listen: { ...options.apiListen, host: options.apiListen.host ?? "::" },
    ...(apiUrl !== undefined && { apiUrl }),
    clock,
    log,
    metrics,
    keys,
    restriction: openSourceRestriction(store),
    origins: options.apiOrigins,
    refused: options.refused,
    limits: { ...defaultLimits, ...options.limits, requestsPerMinute: options.apiRate },
    ...made,
  });
  runUnattended(
    "task",
    foundation.draining.then(() => server.drain()),
  );
  return {
    address: server.address,
    operations: made.operations,
    async stop(): Promise<void> {
      entrance?.stop();
      await server.stop();
      await reserving.domainChecks.stop();
    },
  };
}

/** An edge drains only when the server stops, and may begin before the API has started. */
function watchDraining(): EdgeObserver & { readonly begun: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { begun: promise, receive: ({ type }) => type === "draining" && resolve() };
}

/** Returns the address at which joining agents reach the server, and the CA that verifies it. */
function joinPlaceOf(
  { domain, agentListen, agentAddress, agentCa, serverKeys }: ControlPlaneOptions,
  edges: Pick<Edges, "agentPort">,
): BehaviourNeeds["joinPlace"] {
  const pem = agentCa === "own" ? serverKeys?.authority.certificatePem : undefined;
  const authority = pem === undefined ? undefined : hash("sha256", new X509Certificate(pem).raw, "buffer");
  return () => ({
    ...(agentAddress[0] ?? { host: domain, port: edges.agentPort() ?? agentListen.port }),
    authority,
  });
}

/** With an identity provider, people log in at any address of the console. Passkeys are bound to one. */
function invitationOriginOf(
  { console: state, consoleOidcIssuer, apiUrl }: ControlPlaneOptions,
  reachedAt: () => string,
): BehaviourNeeds["invitationOrigin"] {
  return (baseUrl) => {
    if (state !== "on") throw new Refusal("console_off");
    return consoleOidcIssuer === undefined ? passkeyOrigin(reachedAt()) : (apiUrl ?? baseUrl);
  };
}

/** Shows the operator's account a problem if the history is not pruned. */
function problemsOf(store: Store, log: Log, shared: SharedProblems): EdgeProblems {
  const problems = trackProblems(log, shared);
  store.history.onHeld((message) => problems.tell(ofServer(store, undefined, message)));
  reportJobs(store, problems.tell);
  return problems;
}

/** Returns a problem that the operator's account sees. */
function ofServer(store: Store, module: string | undefined, message: string | undefined): Problem {
  const operator = store.accounts()[0]?.id ?? "";
  return { kind: "account", id: operator, accountId: operator, module, message };
}

interface Counted {
  readonly store: Pick<Store, "revision">;
  readonly applied: { everywhere(): number | undefined };
  readonly edges: Pick<Edges, "joined">;
  readonly agents: Pick<Replica<EdgeLine>, "count">;
  readonly problems: Pick<EdgeProblems, "count">;
  readonly queries: Pick<EdgeQueries, "metrics">;
  readonly telemetry: ControlPlaneTelemetry | undefined;
}

/** Registers the numbers, and sends all metrics to the telemetry until `stop` is called. */
function showNumbers(metrics: Metrics, counted: Counted): { stop(): void } {
  const { store, applied, edges, agents, problems, queries, telemetry } = counted;
  exportOutboundCounters(metrics);
  exportFailures(metrics);
  metrics.gauge("postern_revision", "Revision of the last committed write.", () => store.revision);
  metrics.gauge("postern_revision_applied", "Revision that every edge serves.", () => applied.everywhere() ?? 0);
  metrics.gauge("postern_edges", "Connected edges.", () => edges.joined().length);
  metrics.gauge("postern_tunnel_sessions", "Connected agents.", () => agents.count("sessions"));
  metrics.gauge("postern_tunnels", "Online tunnels.", () => agents.count("tunnels"));
  metrics.gauge("postern_configuration_problems", "Modules that an edge could not compile.", () => problems.count());
  const sent = telemetry?.sendMetrics(async () => sumMetrics([metrics.render(), await queries.metrics()]));
  return { stop: () => sent?.cancel() };
}

/** Returns the team's identity provider for the console, if configured. */
function teamOf(options: ControlPlaneOptions, store: Store): ConsoleOptions["team"] {
  const { consoleOidcIssuer: issuer, consoleOidcClientId: clientId, consoleAccess, clock, log } = options;
  if (issuer === undefined || clientId === undefined) return undefined;
  const login = openTeamLogin({
    issuer,
    clientId,
    clientSecret: options.consoleOidcClientSecret ?? "",
    skewSeconds: options.clockSkew,
    wantsGroups: consoleAccess.some(({ by }) => by === "group"),
    ca: options.loginCa,
    clock,
    log,
    toldLogOuts: makeToldLogOuts(store, clock),
  });
  return { login, people: makePeople(consoleAccess, store, issuer), checks: makeTeamChecks(store, login, clock, log) };
}

/** Returns the rules for reserving names and ports. */
function makeReservationRules(options: ControlPlaneOptions, store: Store) {
  const { clock, log, domain, idpHost, tcpPorts, requireReservedDomains, requireDomainProof, allowLocalUpstreams } =
    options;
  const suffixes = { more: options.publicSuffix, allowed: options.allowPublicSuffix };
  const rules = { domain, idpHost, suffixes, domainProof: requireDomainProof };
  const resolveTxt = options.resolveTxt ?? makeResolveTxt(options.nameServer);
  const domainChecks = openDomainChecks({ store, rules, resolveTxt, clock, log });
  return { ...rules, domainChecks, requireReservation: requireReservedDomains, tcpPorts, allowLocalUpstreams };
}

/** Passes entries of other nodes that are not about agents to their readers. */
function dispatchEntries(events: Events, problems: SharedProblems, isolation: Isolation): NodeEntriesOptions["heard"] {
  return (id, entry) => {
    if (!entry || entry.what === "delivery") events.heard(id, entry);
    if (!entry || entry.what === "problems") problems.heard(id, entry);
    if (!entry || entry.what === "unreached") isolation.heard(id, entry);
  };
}

/** Watches whether this node reaches the database and the other nodes. */
function watchPlace(
  { clock, log }: ControlPlaneOptions,
  { node }: Store,
  edges: Edges,
  queries: EdgeQueries,
  readiness: TrackedReadiness,
  directory: () => NodeDirectory | undefined,
): { readonly standing: NodeStanding; readonly isolation: Isolation } {
  const standing = watchStanding({ node, edges, others: () => directory()?.allLines() ?? [], queries, clock, log });
  const isolation = watchIsolation({
    node,
    others: () => directory()?.linesByNode() ?? new Map(),
    queries,
    changed(isIsolated) {
      readiness.isolate(isIsolated);
      standing.isolate(isIsolated);
    },
    clock,
    log,
  });
  return { standing, isolation };
}

/** Returns what other nodes have. Undefined for a server without a cluster. */
async function followNodes(
  { clock, log, peerAddress, peerListen }: ControlPlaneOptions,
  store: Store,
  edges: Edges,
  queries: EdgeQueries,
  onEntry: NodeEntriesOptions["heard"],
): Promise<NodeDirectory | undefined> {
  const { node } = store;
  if (!node) return undefined;
  // Load presence first, so that edges get the complete state of other nodes from the start.
  await node.presence.refresh().catch((error: unknown) => log.warn("presence of other nodes not read", { error }));
  const directory = openNodeDirectory({
    presence: node.presence,
    host: () => peerAddress ?? peerListen.host ?? node.localAddress ?? "127.0.0.1",
    reached: (milestone, timeoutMs) => queries.reached(milestone, timeoutMs),
    isThere: async (line) => (await queries.standing(line)) !== undefined,
    heard: onEntry,
    isRevoked: revocationsIn(store, clock),
    relay: (place, message) => edges.joined()[0]?.send({ type: "relay", ...place, message: message as Relayed }),
    clock,
  });
  watchRevocations(store, directory);
  return directory;
}

/** Starts the parts of the control plane that logins of visitors and agents need. */
async function keepLogins(
  options: ControlPlaneOptions,
  store: Store,
  metrics: Metrics,
  tell: TellLogin,
  lastUses: LastUses,
) {
  const { clock, log } = options;
  const keys = await keepLoginKeys(store, clock, log);
  await keepIdpDomain({ store, clock, log, names: options, agreed: options.acmeAgree });
  const book = keepLoginBook({ store, clock, log, idleDays: options.loginIdleDays });
  const recorder = options.telemetry?.recorder;
  const goneLogins = endGoneLogins({ store, clock, log, tell, recorder });
  const usedMessages = keepUsedMessages(store, clock, log);
  const { allowLocalUpstreams: allowLocal, loginCa: ca } = options;
  const joiningAgents = keepJoiningAgents(store, clock, log);
  const invitations = sweepInvitations(store, clock, log, recorder);
  const authorizations = keepAuthorizations({ store, clock, log, allowLocal, ca });
  const samlMetadata = keepSamlMetadata({ store, clock, log, metrics, allowLocal, ca });
  return {
    book,
    watchers: [lastUses, usedMessages, samlMetadata, joiningAgents, authorizations],
    async stop(): Promise<void> {
      keys.cancel();
      goneLogins.stop();
      usedMessages.stop();
      authorizations.stop();
      invitations.stop();
      await samlMetadata.stop();
    },
  };
}
