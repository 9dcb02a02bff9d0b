/**
 * Packed documents of very numerous kinds: an object's own values as one text, and values that it shares with others as
 * another text that is stored once.
 */
import type { Doc } from "./doc.ts";
import type { PackedPaths } from "./packed-paths.ts";

/** Both are JSON lists of values. */
export interface PackedDoc {
  readonly own: string;
  readonly common: string;
}

/** Objects of one kind in transit. Their texts are passed on without parsing. */
export interface PackedObjects {
  readonly kind: string;
  readonly commons: readonly { readonly account_id: string; readonly text: string }[];
  /** One line per object: the number of its `commons`, its id, and its own values, separated by spaces. */
  readonly objects: Uint8Array<ArrayBuffer>;
}

export interface Packing {
  pack(doc: Doc): PackedDoc;
  /** Values that are empty, or were added later, may be absent from the document. */
  unpack(own: readonly unknown[], common: readonly unknown[]): Record<string, unknown>;
  /** Number of keys among the own values; they come first. */
  readonly keys: number;
  keysOf(doc: Doc): readonly unknown[];
}

interface Path {
  readonly name: string;
  readonly inner: string | undefined;
  /** Represents a value that a document lacks. */
  readonly empty: unknown;
}

/** @param emptyAt returns the value that stands for an absent one */
export function packingOf(paths: PackedPaths, emptyAt: (path: string) => unknown = () => null): Packing {
  const pathsOf = (names: readonly string[]): readonly Path[] =>
    names.map((path): Path => {
      const [name = "", inner] = path.split(".");
      return { name, inner, empty: emptyAt(path) };
    });
  const [own, common] = [pathsOf([...paths.keys, ...paths.own]), pathsOf(paths.common)];
  return {
    pack: (doc) => ({
      own: JSON.stringify(
        withoutEmptyEnd(
          own.map((path) => valueAt(doc, path)),
          own,
          paths.keys.length,
        ),
      ),
      common: JSON.stringify(common.map((path) => valueAt(doc, path))),
    }),
    unpack(ownValues, commonValues) {
      const doc: Record<string, unknown> = {};
      putValues(doc, own, ownValues);
      putValues(doc, common, commonValues);
      return doc;
    },
    keys: paths.keys.length,
    keysOf: (doc) => own.slice(0, paths.keys.length).map((path) => valueAt(doc, path)),
  };
}

/** Most objects use few of the possible values. */
function withoutEmptyEnd(values: readonly unknown[], paths: readonly Path[], least: number): readonly unknown[] {
  let end = values.length;
  while (end > least && isEmpty(values[end - 1], (paths[end - 1] as Path).empty)) end -= 1;
  return values.slice(0, end);
}

function isEmpty(value: unknown, empty: unknown): boolean {
  return value === empty || (Array.isArray(value) && Array.isArray(empty) && value.length + empty.length === 0);
}

function valueAt(doc: Doc, { name, inner, empty }: Path): unknown {
  const value = inner === undefined ? doc[name] : (doc[name] as Doc | undefined)?.[inner];
  return value === undefined ? empty : value;
}

function putValues(doc: Record<string, unknown>, paths: readonly Path[], values: readonly unknown[]): void {
  const count = Math.min(paths.length, values.length);
  for (let at = 0; at < count; at += 1) {
    const { name, inner } = paths[at] as Path;
    if (inner === undefined) doc[name] = values[at];
    else ((doc[name] ??= {}) as Record<string, unknown>)[inner] = values[at];
  }
}
