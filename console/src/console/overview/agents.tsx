/** The connected agents, with their version and when each last answered. */
import type { TunnelSession } from "../../../../sdk/src/index.ts";
import { Tag, Time } from "../../ui/elements.tsx";
import { durationText } from "../../ui/format.ts";
import { postern } from "../api.ts";
import { configurationChanges, useEvery } from "../live-changes.ts";
import { Failed } from "../parts.tsx";
import { linkTo } from "../router.ts";
import { useData } from "../use-data.ts";
import { useState } from "preact/hooks";

const shown = 6;
const everyMs = 15_000;

interface Agent {
  readonly session: TunnelSession;
  readonly name: string;
  readonly tunnels: number;
  readonly latencyMs: number | null;
  readonly heardAt: string | undefined;
}

export function Agents() {
  const [asked, setAsked] = useState(0);
  useEvery(everyMs, () => setAsked((count) => count + 1), []);
  const found = useData(loadAgents, [asked, configurationChanges.value]);
  const { agents = [], more = false } = found.value ?? {};
  return (
    <section class="panel" aria-label="Agents">
      <header>
        <h2 class="grow">Agents</h2>
        <a href="#/invite">Add an agent</a>
      </header>
      <Failed error={found.error} again={found.again} />
      {found.value && agents.length === 0 && <p class="inside muted">No agent is connected.</p>}
      <ul class="plain-list">
        {agents.map(({ session, name, tunnels, latencyMs, heardAt }) => (
          <li key={session.id} class="row">
            <a class="grow cut" href={linkTo("objects", "tunnel_session", session.id)}>
              {name}
            </a>
            <span class="muted small">
              {`${session.agent_version}, ${session.os}, ${tunnels} ${tunnels === 1 ? "tunnel" : "tunnels"}`}
            </span>
            {latencyMs === null ? (
              <Tag tone="warn">
                {heardAt === undefined ? (
                  "no answer"
                ) : (
                  <>
                    last seen <Time at={heardAt} />
                  </>
                )}
              </Tag>
            ) : (
              <Tag tone="good">{durationText(latencyMs)}</Tag>
            )}
          </li>
        ))}
      </ul>
      {more && (
        <p class="inside">
          <a href="#/objects/tunnel_session">All agents</a>
        </p>
      )}
    </section>
  );
}

async function loadAgents(): Promise<{ readonly agents: readonly Agent[]; readonly more: boolean }> {
  const [sessions, tunnels, tokens] = await Promise.all([
    postern.tunnelSessions.list({ limit: 100 }).page(),
    postern.tunnels.list({ limit: 100 }).page(),
    // A key may see agents and not their tokens.
    postern.credentials
      .list({ limit: 100 })
      .page()
      .catch(() => undefined),
  ]);
  const names = new Map(tokens?.items.map(({ id, description }) => [id, description]));
  const agents = sessions.items.slice(0, shown).map(async (session): Promise<Agent> => {
    // The agent may end in the meantime.
    const pulse = await postern.tunnelSessions.pulse.get(session.id).catch(() => undefined);
    return {
      session,
      name: session.metadata || names.get(session.credential?.id ?? "") || session.ip,
      tunnels: tunnels.items.filter((one) => one.tunnel_session?.id === session.id).length,
      latencyMs: pulse?.latency_ms ?? null,
      heardAt: pulse?.heard_at,
    };
  });
  return { agents: await Promise.all(agents), more: sessions.items.length > shown };
}
