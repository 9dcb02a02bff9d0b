/** Scales and labels of charts. */

/** Returns a round number that is at least `most`. */
export function roundTop(most: number, isWhole: boolean): number {
  if (!(most > 0)) return isWhole ? 4 : 1;
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [1, 2, 4, 6, 8, 10].find((one) => one * power >= most) ?? 10;
  return isWhole ? Math.max(4, step * power) : step * power;
}

/** Returns four lines of the axis, from the top down to zero. */
export function axisOf(top: number): readonly number[] {
  return [top, top / 2, 0];
}

/** `950`, `12.4 k`, `3.1 M`. */
export function countText(count: number): string {
  if (count < 10_000) return count.toLocaleString("en");
  if (count < 1_000_000) return `${trimNumber(count / 1_000)} k`;
  return count < 1_000_000_000 ? `${trimNumber(count / 1_000_000)} M` : `${trimNumber(count / 1_000_000_000)} G`;
}

function trimNumber(number: number): string {
  return number.toFixed(number < 100 ? 1 : 0).replace(/\.0$/, "");
}

export interface Times {
  /** Start of the first step, milliseconds since 1970. */
  readonly since: number;
  readonly stepMs: number;
  readonly count: number;
}

const dayMs = 86_400_000;

/** Returns the local time of a place on the axis. */
export function axisText(at: number, { stepMs, count }: Times): string {
  const time = new Date(at);
  if (stepMs * count > 2 * dayMs)
    return time.toLocaleDateString([], { weekday: "short", day: "numeric", month: "short" });
  return time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
}

/** Returns the period of a step. */
export function stepText(step: number, times: Times): string {
  const from = new Date(times.since + step * times.stepMs);
  const to = new Date(from.getTime() + times.stepMs);
  const clock = (time: Date): string =>
    time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
  const isToday = from.toDateString() === new Date().toDateString();
  const date = isToday ? "" : `${from.toLocaleDateString([], { weekday: "short", day: "numeric", month: "short" })}, `;
  return times.stepMs >= dayMs ? date.replace(", ", "") || "Today" : `${date}${clock(from)} to ${clock(to)}`;
}
