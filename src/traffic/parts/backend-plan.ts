import { parseHostport } from "../../lib/hostport.ts";
import { backendKinds } from "../../schema/backend-kinds.ts";
import type { BackendKind } from "../../schema/backend-kinds.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { Look } from "../module.ts";
import type { UpstreamPlan } from "../upstream-plan.ts";

/** Maximum number of backends in a plan, counting repeated references. */
const maxMembers = 1000;

/**
 * What a backend does, as data. Throws when it, or one that it refers to, does not exist in the account, or when
 * they refer to each other in a circle: the route then fails closed.
 */
export function planOf(look: Look, id: string): UpstreamPlan {
  return planBackend(look, id, [], { members: 0 });
}

function planBackend(look: Look, id: string, above: readonly string[], count: { members: number }): UpstreamPlan {
  if (above.includes(id))
    throw new Error(`follow backend "${id}": it leads back to itself by ${[...above, id].join(", ")}`);
  count.members += 1;
  if (count.members > maxMembers) throw new Error(`follow backend "${above[0]}": it leads to more than ${maxMembers}`);
  const backend = findBackend(look, id);
  if (!backend) throw new Error(`find backend "${id}": it does not exist`);
  const { doc, revision } = backend;
  const path = [...above, id];
  switch (backend.kind as BackendKind) {
    case "tunnel_group_backend":
      return {
        kind: "tunnel_group",
        id,
        revision,
        accountId: look.accountId,
        labels: doc["labels"] as Record<string, string>,
      };
    case "failover_backend":
      return {
        kind: "failover",
        id,
        revision,
        members: (doc["backends"] as readonly string[]).map((member) => planBackend(look, member, path, count)),
      };
    case "weighted_backend":
      return {
        kind: "weighted",
        id,
        revision,
        members: Object.entries(doc["backends"] as Record<string, number>).map(([member, weight]) => ({
          plan: planBackend(look, member, path, count),
          weight,
        })),
      };
    case "http_response_backend":
      return {
        kind: "http_response",
        id,
        revision,
        status: doc["status_code"] as number,
        headers: (doc["headers"] ?? {}) as Record<string, string>,
        body: doc["body"] as string,
      };
    case "static_backend": {
      const address = parseAddress(doc["address"] as string);
      if (!address) throw new Error(`read backend "${id}": "${String(doc["address"])}" is not a host and a port`);
      return { kind: "static", id, revision, ...address, tls: (doc["tls"] as { enabled: boolean }).enabled };
    }
  }
}

function findBackend(look: Look, id: string): ResourceObject | undefined {
  for (const kind of backendKinds) {
    const found = look.get(kind, id);
    if (found) return found;
  }
  return undefined;
}

/** `host:port`, `192.0.2.1:port` or `[2001:db8::1]:port`. */
function parseAddress(text: string): { host: string; port: number } | undefined {
  const named = parseHostport(text);
  if (named) return named;
  const [, six, four, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):([1-9][0-9]{0,4})$/.exec(text) ?? [];
  const host = six ?? four;
  return host === undefined || Number(port) > 65_535 ? undefined : { host, port: Number(port) };
}
