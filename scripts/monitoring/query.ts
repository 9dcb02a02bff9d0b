/** PromQL for dashboards and alerts, with metrics and labels that exist. */
import type { Metric } from "../reference/metrics.ts";

/** Makes the queries of a panel or rule. @param name without `postern_` */
export interface Queries {
  /** The current value, summed over series: by a label, or over all. */
  now(name: string, by?: string): string;
  /** The rate per second of a counter. @param matching such as `status="5xx"` */
  rate(name: string, options?: { readonly by?: string; readonly matching?: string }): string;
  /** The series unchanged. */
  series(name: string): string;
}

/** @param selector what each series must match, such as `job="postern"`; "" for nothing */
export function queriesOf(catalogue: ReadonlyMap<string, Metric>, selector: string): Queries {
  const metric = (name: string, matching = "", by = ""): string => {
    const found = catalogue.get(`postern_${name}`);
    if (found === undefined) throw new Error(`make a query: the server has no metric postern_${name}`);
    const labels = [by, /^\w+/.exec(matching)?.[0] ?? ""].filter((label) => label !== "");
    for (const label of labels) {
      if (!found.labels.includes(label)) throw new Error(`make a query: ${found.name} has no label ${label}`);
    }
    const all = [selector, matching].filter((one) => one !== "").join(",");
    return all === "" ? found.name : `${found.name}{${all}}`;
  };
  const over = (by = ""): string => (by === "" ? "sum" : `sum by (${by}) `);
  return {
    now: (name, by) => `${over(by)}(${metric(name, "", by)})`,
    rate: (name, { by, matching } = {}) => `${over(by)}(rate(${metric(name, matching, by)}[5m]))`,
    series: (name) => metric(name),
  };
}
