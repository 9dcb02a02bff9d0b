/** Strict parser for times (RFC 3339 §5.6): `Date.parse` accepts February 30th as March 2nd. */
import { minuteMs } from "./durations.ts";

const form =
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)T(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)(?:\.(?<fraction>\d+))?(?:Z|(?<sign>[+-])(?<offsetHour>\d\d):(?<offsetMinute>\d\d))$/i;

/**
 * Returns milliseconds since 1970, truncated. Returns undefined if `text` does not have this form, or is not a date of
 * the calendar. Rejects leap seconds, because no stored time can represent them, and times that in UTC are outside the
 * years 0000 to 9999.
 */
export function parseTime(text: string): number | undefined {
  const parts = form.exec(text)?.groups;
  if (!parts) return undefined;
  const number = (name: string): number => Number(parts[name] ?? 0);
  const [year, month, day] = [number("year"), number("month"), number("day")];
  const [hour, minute, second] = [number("hour"), number("minute"), number("second")];
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  if (number("offsetHour") > 23 || number("offsetMinute") > 59) return undefined;
  const local = new Date(0);
  // Date.UTC maps the years 0 to 99 to the twentieth century.
  local.setUTCFullYear(year, month - 1, day);
  local.setUTCHours(hour, minute, second, Number((parts["fraction"] ?? "").slice(0, 3).padEnd(3, "0")));
  const offset = (number("offsetHour") * 60 + number("offsetMinute")) * minuteMs;
  const at = local.getTime() - (parts["sign"] === "-" ? -offset : offset);
  return at >= firstMs && at < endMs ? at : undefined;
}

const firstMs = Date.parse("0000-01-01T00:00:00Z");
const endMs = Date.parse("+010000-01-01T00:00:00Z");

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}
