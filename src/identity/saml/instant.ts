/**
 * SAML's times (saml-core §1.3.3): UTC, with a Z. Milliseconds since 1970; undefined for any other form, and for days
 * that no calendar has.
 */
export function readInstant(text: string | undefined): number | undefined {
  const found = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(\.\d{1,12})?Z$/.exec(text ?? "");
  if (!found) return undefined;
  const ms = Date.parse(`${found[1]}Z`);
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 19) !== found[1]) return undefined;
  return ms + Math.floor(Number(`0${found[2] ?? ""}`) * 1000);
}

/** Whole seconds, as every reader takes them. */
export function writeInstant(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** xs:duration, in seconds; a year counts 365 days, a month 30. Undefined for other forms and negative ones. */
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
