/** The data about addresses that this server has, for warnings about policies that read other data. One list per thread. */
import type { PolicyWarning } from "./policy-issue.ts";

let names: readonly string[] = [];

/** @param present names of `serverDataOf` */
export function replaceServerData(present: readonly string[]): void {
  names = present;
}

export function serverData(): readonly string[] {
  return names;
}

/** Returns false if the warning assumes that data are absent that this server has. */
export function applies({ datum }: PolicyWarning, present = names): boolean {
  return datum === undefined || !present.includes(datum);
}
