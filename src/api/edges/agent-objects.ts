/** Sessions, tunnels and endpoints of agents, as objects like the stored ones. */
import type { AgentReader } from "../../directory/reader.ts";
import type { Reader, StoredObject } from "../../storage/store.ts";
import { endpointObject, sessionObject, tunnelObject } from "./live-docs.ts";

/** The objects of one kind and account. An object is made when a caller gets it. */
export interface ObjectsById {
  get(id: string): StoredObject | undefined;
  keys(): Iterable<string>;
}

export interface AgentObjects {
  sessions(accountId: string): ObjectsById;
  tunnels(accountId: string): ObjectsById;
  endpoints(accountId: string): ObjectsById;
}

/** @param agents the agents of this node's edges first, and then those of other nodes */
export function makeAgentObjects(reader: Reader, agents: () => readonly AgentReader[]): AgentObjects {
  const objects =
    <Report extends { readonly accountId: string }>(
      of: Parameters<AgentReader["ids"]>[0],
      find: (one: AgentReader, id: string) => Report | undefined,
      objectOf: (report: Report) => StoredObject | undefined,
    ) =>
    (accountId: string): ObjectsById => ({
      get(id) {
        for (const one of agents()) {
          const report = find(one, id);
          if (report) return report.accountId === accountId ? objectOf(report) : undefined;
        }
        return undefined;
      },
      // An agent that moves may be at two places for a moment.
      keys: () => new Set(agents().flatMap((one) => [...one.ids(of, accountId)])),
    });
  return {
    sessions: objects("sessions", (one, id) => one.session(id), sessionObject),
    tunnels: objects("tunnels", (one, id) => one.tunnel(id), tunnelObject),
    endpoints: objects(
      "endpoints",
      (one, id) => one.tunnelOfEndpoint(id),
      (report) => endpointObject(report, reader),
    ),
  };
}
