/** Starts the public listeners for HTTPS and, if configured, plain HTTP, and the listener for agents. */
import type { DataPlane } from "./data-plane.ts";
import type { EdgeOptions, PublicPorts } from "./edge-options.ts";
import type { ServedConnection } from "./http/http-context.ts";
import { serveHttp1 } from "./http/http1-connection.ts";
import { serveHttp2 } from "./http2/serve-http2.ts";
import { startAgentListener } from "./listeners/agent-listener.ts";
import type { AgentListener } from "./listeners/agent-listener.ts";
import { startHttpsListener } from "./listeners/https-listener.ts";
import type { ListenAddress, Listener, PublicListenerContext } from "./listeners/listener.ts";
import { startRedirectListener } from "./listeners/redirect-listener.ts";
import { machineNames } from "./tls/machine-names.ts";

/** Called with each connection that begins to carry requests. */
type Serving = (connection: ServedConnection) => void;

/** Rejects if the address is not available, like the other listeners. */
export function listenHttps(options: EdgeOptions, plane: DataPlane, serving: Serving): Promise<Listener> {
  const { context, sites, pools, splices, certificates, tickets, challenges } = plane;
  return startHttpsListener({
    ...publicContext(options, plane),
    at: options.httpsListen,
    deadlines: context.deadlines,
    siteFor: sites.secure,
    choose: pools.choose,
    connections: { admits: splices.admits, serve: splices.serve },
    certificates,
    tickets,
    challenges,
    protocols: ["h2", "http/1.1"],
    serve(socket, facts, protocol) {
      const serve = protocol === "h2" ? serveHttp2 : serveHttp1;
      serving(serve(socket, facts, sites.https, context));
    },
  });
}

/** @param advertisedHttpsPort port to which requests are redirected */
export function listenHttp(
  at: ListenAddress,
  options: EdgeOptions,
  plane: DataPlane,
  advertisedHttpsPort: number,
  serving: Serving,
): Promise<Listener> {
  const { context, sites, challenges } = plane;
  return startRedirectListener({
    ...publicContext(options, plane),
    at,
    advertisedHttpsPort,
    challengeBody: challenges.body,
    endpoints: {
      siteFor: sites.http,
      serve: (socket, facts, first) => serving(serveHttp1(socket, facts, sites.http, context, first)),
    },
  });
}

/** @param ports listeners for visitors */
export function listenForAgents(
  options: EdgeOptions,
  { listening, agents, tickets }: DataPlane,
  ports: PublicPorts,
): Promise<AgentListener> {
  const { authority, agentListen: at, agentAddress, domain, beforeAgents } = options;
  const before = beforeAgents && (() => beforeAgents(ports));
  const names = [...agentAddress.map(({ host }) => host), at.host ?? "", domain, ...machineNames()].filter(isNamed);
  return startAgentListener({ ...listening, at, authority, names, agents, tickets, before });
}

/** Whether agents can name it: not an unspecified address, on which the listener takes every one. */
function isNamed(host: string): boolean {
  return host !== "" && host !== "0.0.0.0" && host !== "::";
}

function publicContext(
  { trustedProxies: proxies }: EdgeOptions,
  { listening, context }: DataPlane,
): PublicListenerContext {
  return { ...listening, proxies, forwarders: context.trustsProxy };
}
