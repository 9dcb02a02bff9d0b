/** A data plane with its listeners. The test drives the control plane's end of the line. */
import type { TLSSocket } from "node:tls";
import { createAuthority } from "../../src/lib/certificates/x509.ts";
import type { KeyedCertificate } from "../../src/lib/certificates/x509.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { makeMetrics } from "../../src/lib/metrics.ts";
import type { Downward, Upward } from "../../src/routing/planes/messages.ts";
import type { EdgeAnswer, EdgeQuestion } from "../../src/routing/planes/edge-questions.ts";
import type { ResourceObject } from "../../src/schema/object.ts";
import { edgeSettings } from "../../src/settings/edge.ts";
import { defaultsOf } from "../../src/settings/setting.ts";
import { startEdge } from "../../src/edge/edge.ts";
import type { Edge, EdgeOptions } from "../../src/edge/edge-options.ts";
import { alpnOf, askOver, connectOver } from "./http-client.ts";
import type { Asked, AskOptions, Protocol } from "./http-client.ts";

export interface TestEdge {
  readonly edge: Edge;
  readonly authority: KeyedCertificate;
  /** Messages that the edge has sent up so far. */
  readonly reports: Upward[];
  /** Sends one request to the HTTPS listener on a new connection. */
  ask(protocol: Protocol, options: AskOptions): Promise<Asked>;
  /** Opens a TLS connection to the HTTPS listener. */
  connect(protocol: Protocol, options: AskOptions): Promise<TLSSocket>;
  /** Sends a message down the line. */
  send(message: Downward): void;
  /** Disconnects the edge from its control plane. */
  loseControlPlane(): void;
  /**
   * Revision of the last commit. A commit with a large policy takes effect when the edge reports the revision as
   * applied.
   */
  readonly revision: number;
  /** The configuration that was committed. */
  readonly objects: readonly ResourceObject[];
  /** Commits one object. When this returns, the edge has the object, unless it contains a large policy. */
  put(object: Pick<ResourceObject, "kind" | "id" | "doc"> & { account_id?: string }): void;
  remove(kind: string, id: string): void;
  /** Sends a question as the control plane does; rejects if the edge does not answer. */
  question(asked: EdgeQuestion): Promise<EdgeAnswer>;
  /** Resolves with the first report, past or future, that matches `wanted`. */
  report(wanted: (message: Upward) => boolean): Promise<Upward>;
}

const account = "ac_1";
let shared: KeyedCertificate | undefined;

/**
 * @param snapshot initial configuration; null: the edge gets nothing until the test sends it
 * @param told receives each message that the edge sends up, with the line down
 */
export async function startTestEdge(
  snapshot: readonly ResourceObject[] | null = [],
  options: Partial<EdgeOptions> = {},
  told: (message: Upward, send: (message: Downward) => void) => void = () => {},
): Promise<TestEdge> {
  shared ??= await createAuthority({ commonName: "Test", now: Date.now() });
  const authority = shared;
  const reports: Upward[] = [];
  const waiting = new Set<{ wanted: (message: Upward) => boolean; done: (message: Upward) => void }>();
  let handler: ((message: Downward) => void) | undefined;
  let lost = (): void => {};
  let revision = 0;
  const objects = new Map((snapshot ?? []).map((object) => [`${object.kind} ${object.id}`, object]));
  let calls = 0;
  const send = (message: Downward): void => handler?.(structuredClone(message));
  const edge = await startEdge(
    {
      ...defaultsOf(edgeSettings),
      drainDelay: 0,
      httpsListen: { host: "127.0.0.1", port: 0 },
      httpListen: { host: "127.0.0.1", port: 0 },
      agentListen: { host: "127.0.0.1", port: 0 },
      domain: "apps.example.com",
      authority,
      tunnelSecret: Buffer.alloc(32, 1),
      region: "test",
      serverVersion: "0.0.0",
      clock: systemClock,
      log: silentLog,
      metrics: makeMetrics(),
      drainMs: 5000,
      ...options,
    },
    {
      send(message) {
        reports.push(structuredClone(message));
        for (const one of waiting) {
          if (!one.wanted(message)) continue;
          waiting.delete(one);
          one.done(message);
        }
        told(message, send);
      },
      receive: (take) => (handler = take),
      lost: (tell) => (lost = tell),
    },
  );
  const next = (wanted: (message: Upward) => boolean): Promise<Upward> =>
    new Promise((done) => waiting.add({ wanted, done }));
  const report = (wanted: (message: Upward) => boolean): Promise<Upward> => {
    const present = reports.find(wanted);
    return present ? Promise.resolve(present) : next(wanted);
  };
  if (snapshot) send({ type: "snapshot", revision, objects: snapshot, last: true });
  return {
    edge,
    authority,
    reports,
    ask: (protocol, given) => askOver(protocol, edge.https.port, authority.certificatePem, given),
    connect: (protocol, given) => connectOver([alpnOf(protocol)], edge.https.port, authority.certificatePem, given),
    send,
    get revision() {
      return revision;
    },
    get objects() {
      return [...objects.values()];
    },
    loseControlPlane: () => lost(),
    put({ kind, id, doc, account_id = account }) {
      revision += 1;
      const object = { kind, id, account_id, revision, doc };
      objects.set(`${kind} ${id}`, object);
      send({ type: "changes", revision, changes: [{ kind, id, account_id, object }] });
    },
    remove(kind, id) {
      revision += 1;
      objects.delete(`${kind} ${id}`);
      send({ type: "changes", revision, changes: [{ kind, id, account_id: account, object: null }] });
    },
    async question(asked) {
      calls += 1;
      const call = calls;
      const answered = next((message) => message.type === "answer" && message.call === call);
      send({ type: "question", call, question: asked });
      const told = await answered;
      if (told.type !== "answer" || !told.answer) throw new Error(`ask ${asked.name}: no answer`);
      return told.answer;
    },
    report,
  };
}
