/** How many webhooks wait and are dead now, and how the number has changed since the page was opened. */
import { useEffect, useState } from "preact/hooks";
import { Tag, Time } from "../ui/elements.tsx";
import { postern } from "./api.ts";
import { Failed } from "./parts.tsx";
import { useData } from "./use-data.ts";

const most = 120;
const [width, height] = [240, 40];

export function Backlog({ tick }: { readonly tick: number }) {
  const { value, error } = useData(async () => await postern.inboxes.list().all(), [tick]);
  const [counts, setCounts] = useState<readonly number[]>([]);
  const waiting = value?.reduce((sum, one) => sum + one.waiting, 0) ?? 0;
  const dead = value?.reduce((sum, one) => sum + one.dead, 0) ?? 0;
  const oldest = value
    ?.map((one) => one.oldest_waiting_at)
    .filter((one) => one !== null)
    .toSorted()[0];
  useEffect(() => {
    if (value) setCounts((old) => [...old, waiting].slice(-most));
  }, [value]);
  const paused = value?.filter((one) => one.paused) ?? [];
  return (
    <div class="row" role="group" aria-label="Backlog">
      <Tag tone={waiting > 0 ? "warn" : "good"}>{waiting} waiting</Tag>
      {dead > 0 && <Tag tone="bad">{dead} dead</Tag>}
      {paused.length > 0 && <Tag tone="warn">{paused.length} paused</Tag>}
      {oldest !== undefined && (
        <span class="small">
          oldest <Time at={oldest} />
        </span>
      )}
      {counts.length > 1 && (
        <svg role="img" aria-label={`Backlog: ${counts.join(", ")}`} width={width} height={height}>
          <polyline fill="none" stroke="currentColor" points={linePoints(counts)} />
        </svg>
      )}
      <Failed error={error} />
    </div>
  );
}

function linePoints(counts: readonly number[]): string {
  const top = Math.max(1, ...counts);
  return counts
    .map((count, at) => `${(at * width) / (counts.length - 1)},${height - 2 - (count * (height - 4)) / top}`)
    .join(" ");
}
