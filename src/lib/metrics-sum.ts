/** Returns an exposition with one more label in each of its series. @param value a word */
export function labelMetrics(text: string, label: string, value: string): string {
  return text.replaceAll(
    /^([a-zA-Z_:][\w:]*)(?:\{(.*?)\})? (\S+)( # \{trace_id=.*)?$/gm,
    (_line, name, labels: string | undefined, number, exemplar = "") => {
      const all = [...(labels === undefined ? [] : [labels]), `${label}="${value}"`].join();
      return `${String(name)}{${all}} ${String(number)}${String(exemplar)}`;
    },
  );
}

/** Begins the exemplar of a sample. */
const exemplarMark = " # {trace_id=";

interface Sample {
  readonly value: number;
  /** "" without one. */
  readonly exemplar: string;
}

/**
 * Returns the sum of several expositions in Prometheus' text format (0.0.4), as `metrics.ts` writes it. Series of the
 * same name and labels are added up. Counters, histograms and counts of open objects are then the same as for one
 * process.
 */
export function sumMetrics(texts: readonly string[]): string {
  if (texts.length < 2) return texts[0] ?? "";
  /** By family, whose first lines are its comments. */
  const families = new Map<string, { readonly comments: string[]; readonly series: Map<string, Sample> }>();
  const familyOf = (name: string) => {
    const known = families.get(name);
    if (known) return known;
    const made = { comments: [] as string[], series: new Map<string, Sample>() };
    families.set(name, made);
    return made;
  };
  for (const text of texts) {
    let family = familyOf("");
    for (const line of text.split("\n")) {
      if (line.startsWith("# HELP ")) {
        family = familyOf(line.split(" ", 3)[2] ?? "");
        if (family.comments.length === 0) family.comments.push(line);
      } else if (line.startsWith("# TYPE ")) {
        if (family.comments.length === 1) family.comments.push(line);
      } else if (line !== "") {
        const mark = line.indexOf(exemplarMark);
        const exemplar = mark < 0 ? "" : line.slice(mark);
        const sample = mark < 0 ? line : line.slice(0, mark);
        const end = sample.lastIndexOf(" ");
        const series = sample.slice(0, end);
        const known = family.series.get(series);
        const value = (known?.value ?? 0) + Number(sample.slice(end + 1));
        family.series.set(series, { value, exemplar: exemplar || (known?.exemplar ?? "") });
      }
    }
  }
  let out = "";
  for (const { comments, series } of families.values()) {
    for (const comment of comments) out += `${comment}\n`;
    for (const [name, { value, exemplar }] of series) out += `${name} ${value}${exemplar}\n`;
  }
  return out;
}
