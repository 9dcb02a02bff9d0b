/** The endpoints of an account's agents in the form of messages, so that another thread can compile them. */
import type { AgentEndpoint } from "../../routing/planes/edge-questions.ts";
import type { Opening } from "./opening/opening.ts";
import type { SessionBook } from "./register/session-book.ts";
import type { Elsewhere } from "./remote/elsewhere.ts";

/** Maximum number of endpoints, and of characters of their requests. Further ones are left out. */
const maxEndpoints = 10_000;
const maxLength = 32 * 1024 * 1024;

export interface PublishedOptions {
  readonly accountId: string;
  readonly sessions: Pick<SessionBook, "all" | "tunnelsOf">;
  readonly opening: Pick<Opening, "requestOf">;
  readonly elsewhere: Pick<Elsewhere, "endpointsOf"> | undefined;
}

export function listPublishedEndpoints(options: PublishedOptions): readonly AgentEndpoint[] {
  const found: AgentEndpoint[] = [];
  let length = 0;
  for (const endpoint of endpointsOf(options)) {
    length += endpoint.request.length;
    if (found.length >= maxEndpoints || length > maxLength) break;
    found.push(endpoint);
  }
  return found;
}

function* endpointsOf({ accountId, sessions, opening, elsewhere }: PublishedOptions): Iterable<AgentEndpoint> {
  for (const session of sessions.all()) {
    if (session.accountId !== accountId) continue;
    const { id: sessionId, credentialId, agentId } = session;
    for (const tunnel of sessions.tunnelsOf(session)) {
      const { id: tunnelId, endpoint } = tunnel;
      const request = endpoint && opening.requestOf(tunnel);
      if (request === undefined) continue;
      const { host, port } = endpoint as NonNullable<typeof endpoint>;
      yield { tunnelId, sessionId, credentialId, agentId, host, port, request: JSON.stringify(request) };
    }
  }
  yield* elsewhere?.endpointsOf(accountId) ?? [];
}
