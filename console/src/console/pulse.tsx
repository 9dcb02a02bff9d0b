/** Shows whether the agent of a session responds, and its round trip. */
import { useState } from "preact/hooks";
import type { TunnelSessionPulse } from "../../../sdk/src/index.ts";
import { Tag, Time } from "../ui/elements.tsx";
import { explainError, postern } from "./api.ts";
import { useEvery } from "./live-changes.ts";
import { Failed } from "./parts.tsx";

const everyMs = 5_000;

export function Pulse({ id }: { readonly id: string }) {
  const [pulse, setPulse] = useState<TunnelSessionPulse>();
  const [error, setError] = useState("");
  const ask = async (): Promise<void> => {
    try {
      setPulse(await postern.tunnelSessions.pulse.get(id));
      setError("");
    } catch (failure) {
      setError(explainError(failure).message);
    }
  };
  useEvery(everyMs, () => void ask(), [id]);
  if (error !== "") return <Failed error={error} />;
  if (!pulse) return null;
  const { latency_ms: latency, heard_at: heardAt } = pulse;
  return (
    <p class="panel inside row" role="group" aria-label="Its agent">
      {latency === null ? (
        <Tag tone="warn">does not answer</Tag>
      ) : (
        <Tag tone="good">{`answers in ${formatMs(latency)}`}</Tag>
      )}
      <span class="muted">
        last heard <Time at={heardAt} />
      </span>
    </p>
  );
}

function formatMs(ms: number): string {
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}
