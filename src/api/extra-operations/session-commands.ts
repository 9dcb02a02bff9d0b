/** Operations that send commands to connected agents and return the result. */
import { formatTimestamp } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { SessionCommand, SessionPulse } from "../../routing/planes/messages.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { exampleTime } from "../operation/example-ids.ts";
import { object } from "../operation/shapes.ts";
import type { EdgeQueries } from "../edges/queries.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";
import type { LiveObjects } from "../edges/live-objects.ts";
import { requireObject } from "../objects/lookup.ts";
import { f } from "../../schema/fields.ts";

const pulseSchema = object("Whether the agent of a session responds.", {
  latency_ms: {
    type: ["number", "null"],
    description: "Milliseconds from a heartbeat to its echo; null without an echo within ten seconds.",
  },
  heard_at: { type: "string", format: "date-time", description: "Time of the last data from the agent." },
});

/** Bodies of restart and stop are ignored, because clients send `{}`, nothing, or only the id. */
export function sessionOperations(liveObjects: LiveObjects, queries: EdgeQueries, log: Log): Operation[] {
  const resource = resourceNamed("tunnel_session");
  // A command changes no stored object, so it is in the log and not in the history.
  const command = (call: Call, message: SessionCommand): Promise<Reply> => {
    const session = requireObject(resource, call, liveObjects);
    const { accountId, id: by } = call.principal;
    log.info("command sent to an agent", { command: message.name, session: session.id, account: accountId, by });
    return queries.command(session, message);
  };
  const shared = { resource, verb: "command", method: "POST", status: 204 } as const;
  const path = `${resource.path}/{id}`;
  return [
    {
      resource,
      verb: "command",
      reads: true,
      id: "getTunnelSessionPulse",
      method: "GET",
      path: `${path}/pulse`,
      summary: "Send a heartbeat to the agent, and return its delay and the time of the last data.",
      takes: "nothing",
      status: 200,
      replySchema: "TunnelSessionPulse",
      schemas: { TunnelSessionPulse: pulseSchema },
      exampleReply: { latency_ms: 12.4, heard_at: exampleTime },
      refusals: ["edge_silent", "command_timeout"],
      async run(call) {
        const text = await queries.askAgent(requireObject(resource, call, liveObjects), { name: "pulse" });
        const { latencyMs, heardAt } = JSON.parse(text) as SessionPulse;
        // Rounded to microseconds, because the other digits are noise of the clock.
        const latency = latencyMs === null ? null : Math.round(latencyMs * 1000) / 1000;
        const body = { latency_ms: latency, heard_at: formatTimestamp(heardAt) };
        return { status: 200, body: JSON.stringify(body) };
      },
    },
    {
      ...shared,
      id: "restartTunnelSession",
      path: `${path}/restart`,
      summary: "Tell the agent to restart.",
      takes: "anything",
      run: (call) => command(call, { name: "restart" }),
    },
    {
      ...shared,
      id: "stopTunnelSession",
      path: `${path}/stop`,
      summary: "Tell the agent to stop.",
      takes: "anything",
      run: (call) => command(call, { name: "stop" }),
    },
    {
      ...shared,
      id: "updateTunnelSession",
      path: `${path}/update`,
      summary: "Tell the agent to update within its major version.",
      takes: "anything",
      input: { version: f.string("Target version; empty: the newest compatible version.", { example: "1.4.2" }) },
      run(call) {
        const version = call.body["version"];
        return command(call, { name: "update", version: typeof version === "string" ? version : "" });
      },
    },
  ];
}
