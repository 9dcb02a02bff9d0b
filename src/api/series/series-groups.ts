/** Sums the nodes' answers by service or reason. */
import { DurationTally, otherReasons, otherServices } from "../../lib/tally.ts";
import { endpoint } from "../../resources/endpoint.ts";
import type { PackedTally } from "../../lib/tally.ts";
import type { SeriesAnswer } from "../../routing/planes/edge-questions.ts";
import type { Grouping } from "./read-query.ts";

export interface SeriesGroup {
  /** Service id, or reason. "" without grouping, and for the sum of other services. */
  readonly key: string;
  /** By start of the step. */
  readonly steps: ReadonlyMap<number, DurationTally>;
  readonly total: DurationTally;
}

const endpointPrefix = `${endpoint.idPrefix}_`;

/** @param limit maximum number of groups, besides the sum of the others, which is the last one */
export function groupsOf(answers: readonly SeriesAnswer[], groupBy: Grouping, limit: number): readonly SeriesGroup[] {
  const all = new Map<string, Map<number, PackedTally[]>>();
  const put = (key: string, at: number, tally: PackedTally): void => {
    let steps = all.get(key);
    if (!steps) all.set(key, (steps = new Map()));
    const found = steps.get(at);
    if (found) found.push(tally);
    else steps.set(at, [tally]);
  };
  /** The latest id of each endpoint, by its name. An agent's endpoint gets a new id with each connection. */
  const endpoints = new Map<string, string>();
  const keyOf = ([id, name]: PackedTally): string => {
    if (!id.startsWith(endpointPrefix) || name === "") return id;
    endpoints.set(name, id);
    return name;
  };
  // In the order of time, so that a service has its latest name.
  const parts = answers.flatMap(({ steps }) => steps).toSorted(([one], [other]) => one - other);
  for (const [at, tallies] of parts) {
    for (const tally of tallies) {
      if (groupBy !== "reason") put(keyOf(tally), at, tally);
      else for (const [reason, count] of tally[4]) put(reason, at, ["", "", [], [], [[reason, count]]]);
    }
  }
  const other = groupBy === "reason" ? otherReasons : otherServices;
  if (groupBy === "none" && all.size === 0) all.set(otherServices, new Map());
  const groups = Array.from(all, ([key, steps]) => groupOf(key, [steps]));
  const shownAs = (group: SeriesGroup): SeriesGroup => ({ ...group, key: endpoints.get(group.key) ?? group.key });
  const isNamed = ({ key }: SeriesGroup): boolean => groupBy === "none" || key !== other;
  const named = groups.filter(isNamed).sort((one, two) => trafficIn(two, groupBy) - trafficIn(one, groupBy));
  const rest = [...groups.filter((group) => !isNamed(group)), ...named.slice(limit)];
  const shown = named.slice(0, limit).map(shownAs);
  if (rest.length === 0) return shown;
  return [
    ...shown,
    groupOf(
      other,
      rest.map(({ key }) => all.get(key) ?? new Map<number, PackedTally[]>()),
    ),
  ];
}

function groupOf(key: string, parts: readonly ReadonlyMap<number, readonly PackedTally[]>[]): SeriesGroup {
  const steps = new Map<number, DurationTally>();
  const total = new DurationTally();
  for (const part of parts) {
    for (const [at, tallies] of part) {
      let tally = steps.get(at);
      if (!tally) steps.set(at, (tally = new DurationTally()));
      for (const one of tallies) {
        tally.add(one);
        total.add(one);
      }
    }
  }
  return { key, steps, total };
}

function trafficIn({ total }: SeriesGroup, groupBy: Grouping): number {
  if (groupBy === "reason") return total.reasons.values().reduce((sum, count) => sum + count, 0);
  return total.read("requests") + total.read("connections");
}
