import { defineModule } from "../traffic/module.ts";
import { markedId, mcpSessionField, sessionIn } from "../traffic/mcp-session.ts";
import type { Exchange } from "../traffic/exchange.ts";
import { changeStep, passStep } from "../traffic/step.ts";
import type { Step } from "../traffic/step.ts";

export const mcp = defineModule({
  name: "mcp",
  schemaName: "EndpointMCP",
  on: ["https_route"],
  doc: "Publishes an MCP server (Model Context Protocol, Streamable HTTP). All requests of an MCP session reach the agent that began it; if that agent is gone, they get 404, so that the client begins a new session. Event streams are neither compressed nor buffered.",
  acts: { request: ["change the request"], response: ["change the response"] },
  fields: {},
  compile: () => ({ keepsMcpSessions: true, request: readSession, response: markSession }),
});

const none = passStep("mcp", "the request has no MCP session");
const known = passStep("mcp", "the MCP session was begun through an agent");
const unknown = passStep("mcp", "the MCP session was not begun through an agent");
const unmarked = passStep("mcp", "the response names no MCP session");
const marked = changeStep("mcp", "the MCP session belongs to the agent");

/** The upstream is chosen later: an agent for the session, or any. */
function readSession(exchange: Exchange): Step {
  // An internal endpoint must not read the id of the server.
  if (exchange.mcpSession) return none;
  const { headers } = exchange.request;
  const session = sessionIn(headers);
  exchange.mcpSession = { wanted: session?.mark, served: undefined };
  if (!session) return none;
  if (session.mark === "") return unknown;
  headers.set(mcpSessionField, session.id);
  return known;
}

function markSession({ response, mcpSession }: Exchange): Step {
  if (!response) return unmarked;
  const { headers } = response;
  if (/^text\/event-stream\b/i.test(headers.get("content-type") ?? "")) {
    // Also for proxies between this server and the client.
    const before = headers.getAll("cache-control").filter((one) => one.trim() !== "");
    headers.set("cache-control", [...before, "no-transform"].join(", "));
    headers.set("x-accel-buffering", "no");
  }
  const id = headers.get(mcpSessionField);
  if (id === undefined || mcpSession?.served === undefined) return unmarked;
  headers.set(mcpSessionField, markedId(mcpSession.served, id));
  mcpSession.served = undefined;
  return marked;
}
