/** EdgeQueries to connected agents. */
import type { Operation } from "../operation/call.ts";
import type { EdgeQueries } from "../edges/queries.ts";
import { resourceNamed } from "../operation/declarations.ts";
import type { LiveObjects } from "../edges/live-objects.ts";
import { theOne } from "../objects/lookup.ts";
import { f } from "../../schema/fields.ts";

/** Bodies of restart and stop are read past: clients send `{}`, nothing, or the bare id. */
export function sessionOperations(liveObjects: LiveObjects, queries: EdgeQueries): Operation[] {
  const resource = resourceNamed("tunnel_session");
  const shared = { resource, verb: "command", method: "POST", status: 204 } as const;
  const path = `${resource.path}/{id}`;
  return [
    {
      ...shared,
      id: "restartTunnelSession",
      path: `${path}/restart`,
      summary: "Tell the agent to restart.",
      takes: "anything",
      run: (call) => queries.command(theOne(resource, call, liveObjects), { name: "restart" }),
    },
    {
      ...shared,
      id: "stopTunnelSession",
      path: `${path}/stop`,
      summary: "Tell the agent to stop.",
      takes: "anything",
      run: (call) => queries.command(theOne(resource, call, liveObjects), { name: "stop" }),
    },
    {
      ...shared,
      id: "updateTunnelSession",
      path: `${path}/update`,
      summary: "Tell the agent to update itself, within its major version.",
      takes: "anything",
      input: { version: f.string("Version to update to; empty: the newest that fits.", { example: "1.4.2" }) },
      run(call) {
        const version = call.body["version"];
        const target = theOne(resource, call, liveObjects);
        return queries.command(target, { name: "update", version: typeof version === "string" ? version : "" });
      },
    },
  ];
}
