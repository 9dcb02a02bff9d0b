/** The result of an import: the written objects, and one line for every setting of the source. */
import type { JsonObject } from "../../lib/json.ts";

export type LineKind = "mapped" | "mapped differently" | "left out";

/** Position of a setting: line and column in a text, or a pointer (RFC 6901) in JSON. */
export interface SettingPlace {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  readonly pointer?: string;
}

export interface ReportLine {
  readonly place: SettingPlace;
  /** Path of the setting in the source, such as `proxies[0].localPort`. */
  readonly key: string;
  readonly kind: LineKind;
  /** The result of the setting and its differences, or why it was omitted and the next step. */
  readonly text: string;
  /** Whether the setting protects something. If such a setting is omitted, the command exits with code 8. */
  readonly guardsAccess: boolean;
}

/** A document for `postern plan`. */
export interface ImportedDocument {
  readonly document: string;
  readonly objects: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;
}

/** A secret that the document reads from the environment. */
export interface ImportedSecret {
  readonly name: string;
  /** Undefined if the source does not reveal the secret. */
  readonly value: string | undefined;
  /** Object and field that need the secret. */
  readonly usedBy: string;
}

export interface Imported {
  readonly document?: ImportedDocument;
  /** Content of an agent file in Postern's own format. */
  readonly agentFile?: JsonObject;
  /** Contents of several agent files, by name. */
  readonly agentFiles?: Readonly<Record<string, JsonObject>>;
  /** Content of a settings file for `postern serve`. */
  readonly serverFile?: JsonObject;
  readonly secrets: readonly ImportedSecret[];
  readonly report: readonly ReportLine[];
}

/** Input that cannot be imported. The message contains the position and the rule. */
export class ImportIssue extends Error {
  constructor(place: SettingPlace, message: string, options?: ErrorOptions) {
    super(`${placeText(place)}: ${message}`, options);
  }
}

export function placeText({ file, line, column, pointer }: SettingPlace): string {
  if (pointer !== undefined) return pointer === "" ? file : `${file}#${pointer}`;
  return line === undefined ? file : `${file}:${line}:${column ?? 1}`;
}

/** Whether a setting that protects something was omitted. */
export function leavesGuardOut(report: readonly ReportLine[]): boolean {
  return report.some(({ kind, guardsAccess }) => kind === "left out" && guardsAccess);
}

/**
 * Returns the lines in the order of the source: by file, then by position. Lines without a position keep their order.
 */
export function inOrder(report: readonly ReportLine[]): ReportLine[] {
  return report.toSorted(
    ({ place: a }, { place: b }) =>
      a.file.localeCompare(b.file) || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  );
}
