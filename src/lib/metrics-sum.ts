/**
 * The sum of several expositions in Prometheus' text format (0.0.4), as `metrics.ts` writes it: series of the same
 * name and labels are added up. Counters, histograms and counts of what is open are the same over all as of one.
 */
export function sumMetrics(texts: readonly string[]): string {
  if (texts.length < 2) return texts[0] ?? "";
  /** By family, whose first lines are its comments. */
  const families = new Map<string, { readonly comments: string[]; readonly series: Map<string, number> }>();
  for (const text of texts) {
    let family = { comments: [] as string[], series: new Map<string, number>() };
    for (const line of text.split("\n")) {
      if (line.startsWith("# HELP ")) {
        const name = line.split(" ", 3)[2] ?? "";
        const known = families.get(name);
        family = known ?? { comments: [line], series: new Map() };
        if (!known) families.set(name, family);
      } else if (line.startsWith("# TYPE ")) {
        if (family.comments.length === 1) family.comments.push(line);
      } else if (line !== "") {
        const end = line.lastIndexOf(" ");
        const series = line.slice(0, end);
        family.series.set(series, (family.series.get(series) ?? 0) + Number(line.slice(end + 1)));
      }
    }
  }
  let out = "";
  for (const { comments, series } of families.values()) {
    out += `${comments.join("\n")}\n`;
    for (const [name, value] of series) out += `${name} ${value}\n`;
  }
  return out;
}
