/** A small registry of counters, gauges and histograms in Prometheus' text format. */
export interface Counter {
  add(amount?: number): void;
}

export interface Histogram {
  /**
   * @param value in the metric's unit; by convention seconds
   * @param trace trace of what was observed, for an exemplar
   */
  observe(value: number, trace?: ObservedTrace): void;
}

export interface ObservedTrace {
  readonly traceId: string;
  /** Others are nowhere to be found. */
  readonly isSampled: boolean;
}

interface Exemplar {
  readonly trace: ObservedTrace;
  readonly value: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface Metrics {
  /** Returns the counter for these labels. Call this once and store the result. */
  counter(name: string, help: string, labels?: Readonly<Record<string, string>>): Counter;
  /** Registers a counter stored elsewhere as a plain number; `read` is called on each scrape. */
  counterOf(name: string, help: string, read: () => number, labels?: Readonly<Record<string, string>>): void;
  /** `read` is called on each scrape. */
  gauge(name: string, help: string, read: () => number, labels?: Readonly<Record<string, string>>): void;
  histogram(
    name: string,
    help: string,
    bounds: readonly number[],
    labels?: Readonly<Record<string, string>>,
  ): Histogram;
  /** Exposition format 0.0.4. @param withExemplars appends them to histograms' buckets as in OpenMetrics */
  render(withExemplars?: boolean): string;
}

interface Family {
  readonly type: string;
  readonly help: string;
  readonly series: Map<string, { readonly metric: unknown; readonly lines: (withExemplars: boolean) => string }>;
}

/** @param now wall clock, milliseconds since 1970 */
export function makeMetrics(now: () => number = Date.now): Metrics {
  const families = new Map<string, Family>();
  const series = <T>(
    name: string,
    type: string,
    help: string,
    labels: Readonly<Record<string, string>>,
    make: (labelText: string) => { metric: T; lines: (withExemplars: boolean) => string },
  ): T => {
    let family = families.get(name);
    if (!family) families.set(name, (family = { type, help, series: new Map() }));
    const labelText = Object.entries(labels)
      .map(([key, value]) => `${key}="${escapeLabel(value)}"`)
      .join(",");
    let one = family.series.get(labelText);
    if (!one) family.series.set(labelText, (one = make(labelText)));
    return one.metric as T;
  };
  return {
    counter: (name, help, labels = {}) =>
      series(name, "counter", help, labels, (text) => {
        let total = 0;
        return { metric: { add: (amount = 1) => void (total += amount) }, lines: () => renderLine(name, text, total) };
      }),
    counterOf: (name, help, read, labels = {}) => {
      series(name, "counter", help, labels, (text) => ({
        metric: undefined,
        lines: () => renderLine(name, text, read()),
      }));
    },
    gauge: (name, help, read, labels = {}) => {
      series(name, "gauge", help, labels, (text) => ({
        metric: undefined,
        lines: () => renderLine(name, text, read()),
      }));
    },
    histogram: (name, help, bounds, labels = {}) =>
      series(name, "histogram", help, labels, (text) => {
        const buckets = new Float64Array(bounds.length + 1);
        let sum = 0;
        const exemplars: (Exemplar | undefined)[] = [];
        const observe = (value: number, trace?: ObservedTrace): void => {
          let at = 0;
          while (at < bounds.length && value > (bounds[at] as number)) at += 1;
          buckets[at] = (buckets[at] as number) + 1;
          sum += value;
          if (trace?.isSampled === true) exemplars[at] = { trace, value, at: now() };
        };
        const lines = (withExemplars: boolean): string => {
          let count = 0;
          let out = "";
          const prefix = text === "" ? "" : `${text},`;
          for (let at = 0; at <= bounds.length; at += 1) {
            count += buckets[at] as number;
            const shown = withExemplars ? exemplarText(exemplars[at]) : "";
            out += renderLine(
              `${name}_bucket`,
              `${prefix}le="${at < bounds.length ? bounds[at] : "+Inf"}"`,
              count,
              shown,
            );
          }
          return out + renderLine(`${name}_sum`, text, sum) + renderLine(`${name}_count`, text, count);
        };
        return { metric: { observe }, lines };
      }),
    render(withExemplars = false) {
      let out = "";
      for (const [name, family] of families) {
        out += `# HELP ${name} ${family.help}\n# TYPE ${name} ${family.type}\n`;
        for (const one of family.series.values()) out += one.lines(withExemplars);
      }
      return out;
    },
  };
}

function renderLine(name: string, labels: string, value: number, exemplar = ""): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${value}${exemplar}\n`;
}

function exemplarText(exemplar: Exemplar | undefined): string {
  if (exemplar === undefined) return "";
  const { trace, value, at } = exemplar;
  return ` # {trace_id="${trace.traceId}"} ${value} ${at / 1000}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
