/** Collects the data of `postern status` from the API and this machine. */
import { statfsSync } from "node:fs";
import { PosternError } from "../../../sdk/src/index.ts";
import type { Node, Postern, ProblemList, Request, ReservedDomain, TLSCertificate } from "../../../sdk/src/index.ts";

export interface ServerState {
  /** Why the server accepts no traffic; undefined if it does. */
  readonly notReady: string | undefined;
  /** Why the database stores no writes; undefined if it does. */
  readonly noWrites: string | undefined;
  /** Undefined if the key may not list them. */
  readonly nodes: readonly Node[] | undefined;
  /** Connected edges of the responding server; undefined if this machine may not read its metrics. */
  readonly edges: number | undefined;
  readonly certificates: readonly TLSCertificate[];
  readonly domains: readonly ReservedDomain[];
  readonly agents: number;
  readonly endpoints: number;
  /** Maximum number of objects that were counted: agents, endpoints, certificates or domains. */
  readonly most: number;
  readonly problems: ProblemList["problems"];
  /** The newest failed request. */
  readonly lastFailure: Request | undefined;
  /** Disk of the data directory on this machine; undefined for a remote server. */
  readonly disk: { readonly freeBytes: number; readonly totalBytes: number } | undefined;
}

/** Maximum number of objects read per kind. */
const most = 1_000;

/**
 * @param directory the data directory of the server, if it is on this machine
 * @throws PosternError, PosternConnectionError
 */
export async function collectState(api: Postern, directory: string | undefined): Promise<ServerState> {
  const [traffic, writes] = [await requestReadiness(api, "traffic"), await requestReadiness(api, "writes")];
  const [sessions, endpoints, failed] = await Promise.all([
    upTo(api.tunnelSessions.list({ limit: 100 })),
    upTo(api.endpoints.list({ limit: 100 })),
    undefinedIfForbidden(api.requests.list({ limit: 1, outcome: "failed" }).page()),
  ]);
  return {
    notReady: traffic,
    noWrites: writes,
    nodes: await undefinedIfForbidden(upTo(api.nodes.list({ limit: 100 }))),
    edges: edgesIn(await undefinedIfForbidden(api.getMetrics())),
    certificates: await upTo(api.tlsCertificates.list({ limit: 100 })),
    domains: await upTo(api.reservedDomains.list({ limit: 100 })),
    agents: sessions.length,
    endpoints: endpoints.length,
    most,
    // The domains show why they have no certificate.
    problems: (await api.problems()).problems.filter(({ kind }) => kind !== "reserved_domain"),
    lastFailure: failed?.items[0],
    disk: directory === undefined ? undefined : diskOf(directory),
  };
}

async function upTo<T>(list: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const one of list) if (found.push(one) === most) break;
  return found;
}

/** Returns undefined if the key has no permission. */
async function undefinedIfForbidden<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof PosternError && error.status === 403) return undefined;
    throw error;
  }
}

async function requestReadiness(api: Postern, of: "traffic" | "writes"): Promise<string | undefined> {
  try {
    await api.getReadiness({ of });
    return undefined;
  } catch (error) {
    if (error instanceof PosternError && error.status === 503) return error.message.split("\n")[0];
    throw error;
  }
}

function edgesIn(metrics: string | undefined): number | undefined {
  const [, count] = /^postern_edges (\d+)$/m.exec(metrics ?? "") ?? [];
  return count === undefined ? undefined : Number(count);
}

function diskOf(directory: string): ServerState["disk"] {
  try {
    const { bavail, blocks, bsize } = statfsSync(directory);
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch {
    return undefined;
  }
}
