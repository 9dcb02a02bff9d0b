/** Metrics in the form of OTLP (opentelemetry/proto/metrics/v1/metrics.proto), from the text that `/metrics` serves. */
import { writeAttribute } from "./otlp-attributes.ts";
import { longMessage, ProtoWriter } from "./proto-writer.ts";

const metricField = 2;
const metricFields = { name: 1, description: 2, gauge: 5, sum: 7, histogram: 9 } as const;
const dataPoints = 1;
const temporality = 2;
const isMonotonic = 3;
const cumulative = 2;
const pointFields = { start: 2, time: 3, double: 4, attributes: 7 } as const;
const histogramFields = { start: 2, time: 3, count: 4, sum: 5, buckets: 6, bounds: 7, attributes: 9 } as const;

/** Labels with their values. */
type Labels = readonly (readonly [name: string, value: string])[];

interface Family {
  readonly name: string;
  readonly help: string;
  type: string;
  readonly samples: { readonly name: string; readonly labels: Labels; readonly value: number }[];
}

interface Interval {
  /** When the counters began, milliseconds since 1970. */
  readonly since: number;
  readonly now: number;
}

export interface EncodedMetrics {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Number of data points. */
  readonly items: number;
}

/** @param text in Prometheus' text format (0.0.4), as `lib/metrics.ts` writes it */
export function encodeMetrics(text: string, interval: Interval): EncodedMetrics {
  const to = new ProtoWriter();
  let items = 0;
  for (const family of familiesOf(text)) {
    const start = to.begin(metricField, longMessage);
    to.text(metricFields.name, family.name);
    to.text(metricFields.description, family.help);
    items += family.type === "histogram" ? writeHistogram(to, family, interval) : writeNumbers(to, family, interval);
    to.end(start, longMessage);
  }
  return { bytes: to.take(), items };
}

function writeNumbers(to: ProtoWriter, { type, samples }: Family, { since, now }: Interval): number {
  const isCounter = type === "counter";
  const start = to.begin(isCounter ? metricFields.sum : metricFields.gauge, longMessage);
  for (const { labels, value } of samples) {
    const point = to.begin(dataPoints);
    if (isCounter) to.time(pointFields.start, since);
    to.time(pointFields.time, now);
    to.double(pointFields.double, value);
    for (const [name, text] of labels) writeAttribute(to, pointFields.attributes, name, text);
    to.end(point);
  }
  if (isCounter) {
    to.number(temporality, cumulative);
    to.boolean(isMonotonic, true);
  }
  to.end(start, longMessage);
  return samples.length;
}

interface Point {
  readonly labels: Labels;
  readonly bounds: number[];
  /** Each with the smaller ones. */
  readonly counts: number[];
  sum: number;
}

function writeHistogram(to: ProtoWriter, family: Family, { since, now }: Interval): number {
  const points = pointsOf(family);
  const start = to.begin(metricFields.histogram, longMessage);
  for (const { labels, bounds, counts, sum } of points) {
    const point = to.begin(dataPoints, longMessage);
    to.time(histogramFields.start, since);
    to.time(histogramFields.time, now);
    to.fixed64(histogramFields.count, counts.at(-1) ?? 0);
    to.double(histogramFields.sum, sum);
    to.packedFixed64(
      histogramFields.buckets,
      counts.map((count, at) => count - (at === 0 ? 0 : (counts[at - 1] as number))),
    );
    to.packedDoubles(histogramFields.bounds, bounds);
    for (const [name, text] of labels) writeAttribute(to, histogramFields.attributes, name, text);
    to.end(point, longMessage);
  }
  to.number(temporality, cumulative);
  to.end(start, longMessage);
  return points.length;
}

function pointsOf({ name: familyName, samples }: Family): readonly Point[] {
  const points = new Map<string, Point>();
  for (const { name, labels: all, value } of samples) {
    const labels = all.filter(([label]) => label !== "le");
    const key = JSON.stringify(labels);
    let point = points.get(key);
    if (point === undefined) points.set(key, (point = { labels, bounds: [], counts: [], sum: 0 }));
    if (name === `${familyName}_sum`) point.sum = value;
    const bound = all.find(([label]) => label === "le")?.[1];
    if (bound === undefined) continue;
    point.counts.push(value);
    if (bound !== "+Inf") point.bounds.push(Number(bound));
  }
  return [...points.values()];
}

function familiesOf(text: string): readonly Family[] {
  const families: Family[] = [];
  for (const line of text.split("\n")) {
    const family = families.at(-1);
    if (line.startsWith("# HELP ")) {
      const [, , name = "", ...help] = line.split(" ");
      families.push({ name, help: help.join(" "), type: "", samples: [] });
    } else if (line.startsWith("# TYPE ")) {
      if (family) family.type = line.split(" ")[3] ?? "";
    } else if (line !== "" && family) {
      const end = line.lastIndexOf(" ");
      const [, name = "", labels = ""] = /^([\w:]+)(?:\{(.*)\})?$/.exec(line.slice(0, end)) ?? [];
      family.samples.push({ name, labels: labelsOf(labels), value: Number(line.slice(end + 1)) });
    }
  }
  return families;
}

function labelsOf(text: string): Labels {
  return Array.from(text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g), ([, name = "", value = ""]) => [
    name,
    value.replaceAll(/\\(.)/g, (_all, one) => (one === "n" ? "\n" : String(one))),
  ]);
}
