/** A data plane with its listeners, and the control plane's end of its line in the hands of a test. */
import { createAuthority } from "../../src/lib/x509.ts";
import type { KeyedCertificate } from "../../src/lib/x509.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { makeMetrics } from "../../src/lib/metrics.ts";
import { fingerprint, hashToken, newToken, tokenPrefixes } from "../../src/lib/tokens.ts";
import type { Downward, Upward } from "../../src/routing/planes/messages.ts";
import type { ResourceObject } from "../../src/schema/object.ts";
import { edgeSettings } from "../../src/settings/edge.ts";
import { defaultsOf } from "../../src/settings/setting.ts";
import { startEdge } from "../../src/edge/edge.ts";
import type { Edge, EdgeOptions } from "../../src/edge/edge.ts";

export interface TestEdge {
  readonly edge: Edge;
  readonly authority: KeyedCertificate;
  /** What the edge has sent up so far. */
  readonly reports: Upward[];
  /** Sends a message down the line. */
  send(message: Downward): void;
  /** Commits one object; the edge has it when this returns. */
  put(object: Pick<ResourceObject, "kind" | "id" | "doc"> & { account_id?: string }): void;
  remove(kind: string, id: string): void;
  /** Resolves with the first report, past or to come, that `wanted` takes. */
  report(wanted: (message: Upward) => boolean): Promise<Upward>;
}

const account = "ac_1";
let shared: KeyedCertificate | undefined;

/** @param snapshot what is configured at first; null: nothing is sent until the test does */
export async function startTestEdge(
  snapshot: readonly ResourceObject[] | null = [],
  options: Partial<EdgeOptions> = {},
): Promise<TestEdge> {
  shared ??= await createAuthority({ commonName: "Test", now: Date.now() });
  const authority = shared;
  const reports: Upward[] = [];
  const waiting: { wanted: (message: Upward) => boolean; done: (message: Upward) => void }[] = [];
  let handler: ((message: Downward) => void) | undefined;
  let revision = 0;
  const send = (message: Downward): void => handler?.(structuredClone(message));
  const edge = await startEdge(
    {
      ...defaultsOf(edgeSettings),
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
        for (const one of waiting.filter(({ wanted }) => wanted(message))) one.done(message);
      },
      receive: (take) => (handler = take),
    },
  );
  if (snapshot) send({ type: "snapshot", revision, objects: snapshot, last: true });
  return {
    edge,
    authority,
    reports,
    send,
    put({ kind, id, doc, account_id = account }) {
      revision += 1;
      const object = { kind, id, account_id, revision, doc };
      send({ type: "changes", revision, changes: [{ kind, id, account_id, object }] });
    },
    remove(kind, id) {
      revision += 1;
      send({ type: "changes", revision, changes: [{ kind, id, account_id: account, object: null }] });
    },
    report(wanted) {
      const present = reports.find(wanted);
      if (present) return Promise.resolve(present);
      return new Promise((resolve) => waiting.push({ wanted, done: resolve }));
    },
  };
}

/** An agent token, and its credential as configuration. */
export function newCredential(id = "cr_1"): { readonly token: string; readonly object: ResourceObject } {
  const token = newToken(tokenPrefixes.agent);
  const doc = {
    fingerprint: fingerprint(token),
    token_hash: hashToken(token).toString("hex"),
    acl: [],
    owner_id: null,
  };
  return { token, object: { kind: "credential", id, account_id: account, revision: 1, doc } };
}

/** An HTTPS edge for `hosts` with one route for every path, to the backend tunnels with these labels. */
export function edgeObjects(
  id: string,
  hosts: readonly string[],
  blocks: Readonly<Record<string, unknown>> = {},
): ResourceObject[] {
  const object = (kind: string, ownId: string, doc: Record<string, unknown>): ResourceObject => ({
    kind,
    id: ownId,
    account_id: account,
    revision: 1,
    doc,
  });
  const edge = { hostports: hosts.map((host) => `${host}:443`), mutual_tls: null, tls_termination: null, ...blocks };
  const backend = { enabled: true, backend_id: `bkdtg_${id}` };
  return [
    object("tunnel_group_backend", `bkdtg_${id}`, { labels: { app: id } }),
    object("https_edge", `edghts_${id}`, edge),
    object("https_edge_route", `edghtsrt_${id}`, {
      edge_id: `edghts_${id}`,
      match_type: "path_prefix",
      match: "/",
      backend,
    }),
  ];
}
