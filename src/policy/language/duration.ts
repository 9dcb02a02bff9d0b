const unitSeconds: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600 };

/** Returns the seconds of `90s`, `1h30m`, `500ms`; undefined if the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  if (text.length > 32 || !/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(text)) return undefined;
  const parts = text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g);
  return [...parts].reduce((sum, [, count, unit]) => sum + Number(count) * (unitSeconds[unit as string] ?? 0), 0);
}
