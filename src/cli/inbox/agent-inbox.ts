/**
 * The inbox of an agent's URL: an HTTPS edge with the URL's host, which the server keeps while the agent is offline, and
 * a labelled tunnel of the agent behind it.
 */
import type { HTTPSEdge, Postern } from "../../../sdk/src/index.ts";
import type { TunnelOptions } from "../../agent/tunnel.ts";
import type { Log } from "../../lib/log.ts";
import { providerNamed } from "../../webhooks/providers.ts";
import { apiFailure } from "../api/api-client.ts";
import { Failure } from "../process/exit.ts";

/** Marks edges that this command has made, so that it changes no other edge. */
const mark = '{"postern":"inbox of an agent"}';
const labelName = "postern-inbox";

export interface InboxWebhook {
  /** Requests below this path. */
  readonly path: string;
  readonly provider: string;
  readonly secret: string;
}

/** Parses `PATH=PROVIDER:SECRET`. The message of an error does not repeat the secret. */
export function parseInboxWebhook(given: string): InboxWebhook {
  const [, path = "", name = "", secret = ""] = /^(\/[^=]*)=([a-z0-9_]+)(?::(.*))?$/is.exec(given) ?? [];
  const provider = providerNamed(name);
  if (path === "" || provider === undefined) {
    throw new Error("must be PATH=PROVIDER:SECRET with a known webhook provider, such as /github=github:SECRET");
  }
  return { path, provider, secret };
}

export interface AgentInbox {
  /** The agent's tunnel behind the edge. */
  readonly tunnel: TunnelOptions;
  readonly url: string;
  readonly routeIds: readonly string[];
  /** Returns the number of webhooks that wait. */
  waiting(): Promise<number>;
  setPaused(isPaused: boolean): Promise<void>;
}

/** Makes or changes the edge of the tunnel's URL. Throws `Failure`. */
export async function openAgentInbox(
  api: Postern,
  tunnel: TunnelOptions,
  webhooks: readonly InboxWebhook[],
  log: Log,
): Promise<AgentInbox> {
  const { host, publicHost, wanted, labels } = planOf(tunnel, webhooks);
  const routeIds: string[] = [];
  try {
    const backendId = await backendOf(api, labels);
    const edge = await edgeOf(api, host);
    for (const [path, modules] of wanted) {
      const body = { ...modules, backend: { backend_id: backendId } };
      const known = edge.routes.find(({ match }) => match === path);
      const routes = api.edges.https.routes;
      const route = known
        ? await routes.update(edge.id, known.id, body)
        : await routes.create(edge.id, { match_type: "path_prefix", match: path, ...body });
      if ("inbox" in modules) routeIds.push(route.id);
    }
  } catch (error) {
    throw apiFailure(error);
  }
  return {
    tunnel: { ...tunnel, publish: { kind: "labels", labels }, options: {} },
    url: `https://${publicHost}`,
    routeIds,
    async waiting() {
      try {
        const inboxes = await api.inboxes.list().all();
        return inboxes.reduce((sum, one) => sum + (routeIds.includes(one.route_id) ? one.waiting : 0), 0);
      } catch (error) {
        log.debug("inbox not read", { error });
        return 0;
      }
    },
    async setPaused(isPaused) {
      for (const id of routeIds) {
        await (isPaused ? api.inboxes.pause(id) : api.inboxes.resume(id)).catch((error: unknown) => {
          throw apiFailure(error);
        });
      }
    },
  };
}

type Modules = Readonly<Record<string, unknown>>;

function planOf({ publish, options, trafficPolicy }: TunnelOptions, webhooks: readonly InboxWebhook[]) {
  const url = publish.kind === "url" ? URL.parse(publish.url ?? "") : null;
  if (url?.protocol !== "https:" || url.hostname.includes("*")) {
    throw new Failure(
      "usage",
      "--inbox needs the full public URL, because the name stays reserved: add --url https://NAME",
    );
  }
  const { WebhookVerification: verification, ...others } = options as { WebhookVerification?: Modules };
  const [other] = Object.keys(others);
  if (other !== undefined || trafficPolicy !== undefined) {
    const what = other ?? "a traffic policy";
    throw new Failure(
      "usage",
      `--inbox does not work with ${what}: remove the option, and set it on the route of the edge`,
    );
  }
  // A laptop handles one webhook after the other, so each route has one line.
  const inbox = { order_by: '"all"' };
  const wanted = new Map<string, Modules>();
  for (const { path, provider, secret } of webhooks)
    wanted.set(path, { inbox, webhook_verification: { provider, secret } });
  if (verification) wanted.set("/", { inbox, webhook_verification: verification });
  else if (!wanted.has("/")) wanted.set("/", webhooks.length === 0 ? { inbox } : {});
  return { host: url.hostname, publicHost: url.host, wanted, labels: { [labelName]: url.hostname } };
}

async function backendOf(api: Postern, labels: Readonly<Record<string, string>>): Promise<string> {
  for await (const backend of api.backends.tunnelGroup.list()) {
    if (backend.labels[labelName] === labels[labelName] && Object.keys(backend.labels).length === 1) return backend.id;
  }
  return (await api.backends.tunnelGroup.create({ labels, metadata: mark })).id;
}

async function edgeOf(api: Postern, host: string): Promise<HTTPSEdge> {
  const hostport = `${host}:443`;
  for await (const edge of api.edges.https.list()) {
    if (!edge.hostports.includes(hostport)) continue;
    if (edge.metadata === mark) return edge;
    throw new Failure(
      "nameTaken",
      `the edge ${edge.id} serves ${host}: set the inbox on its routes, or use another URL`,
    );
  }
  return await api.edges.https.create({ hostports: [hostport], metadata: mark, description: "Inbox of an agent" });
}
