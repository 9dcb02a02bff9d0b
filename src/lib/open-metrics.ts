/** The media type of OpenMetrics 1.0. */
export const openMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/** Whether a client prefers OpenMetrics to Prometheus' text format. @param accept value of its `Accept` field */
export function wantsOpenMetrics(accept: string | undefined): boolean {
  return (
    accept !== undefined && /(?:^|[,\s])application\/openmetrics-text\b(?!\s*;[^,]*q=0(?:\.0*)?(?:[,;]|$))/.test(accept)
  );
}

/** Returns an exposition of Prometheus' text format (0.0.4), possibly with exemplars, in OpenMetrics 1.0. */
export function toOpenMetrics(text: string): string {
  // Families of counters are named without the suffix of their samples.
  const counters = new Set(Array.from(text.matchAll(/^# TYPE (\w+)_total counter$/gm), ([, name]) => name));
  const renamed = text.replaceAll(/^# (HELP|TYPE) (\w+)_total /gm, (all, what, name) =>
    counters.has(String(name)) ? `# ${String(what)} ${String(name)} ` : all,
  );
  return `${renamed}# EOF\n`;
}
