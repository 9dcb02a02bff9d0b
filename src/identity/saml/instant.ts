/**
 * Parses a SAML time (saml-core §1.3.3): UTC, with a Z. Returns milliseconds since 1970; undefined for any other form,
 * and for days that do not exist.
 */
export function readInstant(text: string | undefined): number | undefined {
  const found = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(\.\d{1,12})?Z$/.exec(text ?? "");
  if (!found) return undefined;
  const ms = Date.parse(`${found[1]}Z`);
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 19) !== found[1]) return undefined;
  return ms + Math.floor(Number(`0${found[2] ?? ""}`) * 1000);
}

/** Writes whole seconds, which every reader accepts. */
export function writeInstant(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/**
 * Parses an xs:duration to seconds, with 365 days per year and 30 per month. Returns undefined for other forms and
 * negative durations.
 */
export function readDuration(text: string): number | undefined {
  const found =
    /^P(?=\d|T\d)(?:(\d{1,6})Y)?(?:(\d{1,6})M)?(?:(\d{1,6})D)?(?:T(?=\d)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})(?:\.\d{1,9})?S)?)?$/.exec(
      text,
    );
  if (!found) return undefined;
  const [years, months, days, hours, minutes, seconds] = found.slice(1).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return ((years * 365 + months * 30 + days) * 24 + hours) * 3600 + minutes * 60 + seconds;
}
