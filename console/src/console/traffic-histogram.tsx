/** How many of the listed requests ended when, as bars: refused ones at the foot. */
import type { Request } from "../../../sdk/src/index.ts";

const barCount = 48;
const height = 32;

const parsed = new WeakMap<Request, number>();

/** Each change of a list with 10,000 requests draws the bars again, so their times are parsed only once. */
function timeOf(request: Request): number {
  const known = parsed.get(request);
  if (known !== undefined) return known;
  const time = Date.parse(request.ended_at);
  parsed.set(request, time);
  return time;
}

export function Histogram({ requests }: { readonly requests: readonly Request[] }) {
  const times = requests.map(timeOf);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  if (times.length < 2 || last === first) return null;
  const bars = Array.from({ length: barCount }, () => ({ all: 0, refused: 0 }));
  for (const [at, time] of times.entries()) {
    const bar = bars[Math.min(barCount - 1, Math.floor(((time - first) / (last - first)) * barCount))];
    const outcome = requests[at]?.outcome;
    if (bar === undefined) continue;
    bar.all += 1;
    if (outcome === "denied" || outcome === "failed") bar.refused += 1;
  }
  const most = Math.max(...bars.map(({ all }) => all));
  const label = `${times.length} requests from ${new Date(first).toLocaleString()} to ${new Date(last).toLocaleString()}`;
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${barCount * 4} ${height}`}
      preserveAspectRatio="none"
      width="100%"
      height={height}
    >
      {bars.map(({ all, refused }, at) => (
        <g key={at}>
          <Bar at={at} share={all / most} opacity={0.35} />
          <Bar at={at} share={refused / most} opacity={1} />
        </g>
      ))}
    </svg>
  );
}

function Bar({ at, share, opacity }: { readonly at: number; readonly share: number; readonly opacity: number }) {
  const tall = share * height;
  return <rect x={at * 4} y={height - tall} width={3} height={tall} fill="currentColor" opacity={opacity} />;
}
