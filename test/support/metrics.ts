/**
 * Returns the value of a metric in Prometheus' text format (0.0.4), summed over its series. Each of several edges has
 * its own series. Throws if the metric is missing.
 * @param label `name="value"` that the series must have
 */
export function metricSum(text: string, name: string, label = ""): number {
  const series = [...text.matchAll(new RegExp(`^${name}(\\{[^}]*\\})? (\\S+)$`, "gm"))];
  const meant = series.filter(([, labels = ""]) => labels.includes(label));
  if (meant.length === 0) throw new Error(`read the metric ${name} with {${label}}: it is not there`);
  return meant.reduce((sum, [, , value]) => sum + Number(value), 0);
}
