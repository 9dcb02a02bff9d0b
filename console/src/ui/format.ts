/** Formats numbers and times for people. */

/** `1.2 s`, `340 ms`, `0.8 ms`. */
export function durationText(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

export function bytesText(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  if (bytes < 1_048_576) return `${(bytes / 1_024).toFixed(1)} KiB`;
  return `${(bytes / 1_048_576).toFixed(1)} MiB`;
}

// Making a format takes a hundred times longer than using it, and lists show many times.
const clock = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const day = new Intl.DateTimeFormat([], { day: "numeric", month: "short" });

export function clockText(time: Date): string {
  return clock.format(time);
}

/** Returns the local time, with the date if it is not today. */
export function timeText(time: Date): string {
  const isToday = time.toDateString() === new Date().toDateString();
  return isToday ? clockText(time) : `${day.format(time)} ${clockText(time)}`;
}

const units: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, ms: number])[] = [
  ["year", 31_536_000_000],
  ["month", 2_592_000_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/** `5 minutes ago`, `in 3 days`, `just now`. */
export function agoText(time: Date, now = Date.now()): string {
  const ms = time.getTime() - now;
  const [unit, size] = units.find(([, one]) => Math.abs(ms) >= one) ?? [];
  if (unit === undefined || size === undefined) return ms > 0 ? "in a moment" : "just now";
  return new Intl.RelativeTimeFormat("en", { numeric: "always" }).format(Math.trunc(ms / size), unit);
}

export type Tone = "good" | "warn" | "bad" | "info" | "";

export function statusTone(status: number): Tone {
  if (status >= 500) return "bad";
  if (status >= 400) return "warn";
  if (status >= 300) return "info";
  return status >= 200 ? "good" : "";
}
