/** Converts documents between memory, where secrets are open, and the database, where they are sealed. */
import { isSealedField } from "../../schema/concealment.ts";
import type { Field, Fields } from "../../schema/fields.ts";
import { inputName } from "../../schema/doc.ts";
import type { Doc } from "../../schema/doc.ts";
import type { PackedDoc, Packing } from "../../schema/packed.ts";
import type { Kinds } from "./kinds.ts";
import type { Sealer } from "../sealing/sealing.ts";
import type { StoredObject } from "../store.ts";
import { kindNamed } from "./state-view.ts";

export interface ObjectRow {
  readonly id: string;
  readonly account_id: string;
  readonly kind: string;
  readonly revision: number;
  readonly created_at: string;
  readonly doc: string;
}

export interface Documents {
  /** Returns the document as text for the records of writes. */
  render(object: StoredObject): string;
  /** Returns the text for the row of an object of a packed kind: two texts, one line each. */
  renderRow(object: StoredObject): string;
  packs(kind: string): boolean;
  /**
   * Reads a text of either form.
   * @throws Error if the row's kind is not declared, or a secret in it does not open
   */
  read(row: ObjectRow): StoredObject;
  /** Whether objects of the kind have sealed fields. */
  seals(kind: string): boolean;
  /**
   * Returns the text with every value sealed that must be. Newly sealed values are marked, so that `asWritten` finds
   * them.
   * @throws Error if the text could not be restored
   */
  sealLater(row: TextRow): string;
  /** Returns the text from before `sealLater`, which hashes cover; unchanged if it cannot be opened. */
  asWritten(row: TextRow): string;
}

type TextRow = Pick<ObjectRow, "id" | "account_id" | "kind" | "doc">;

/** Replaces the secrets in a value. Returns undefined if the field cannot hold any. */
type Turn = (value: unknown, path: string, one: Secret) => unknown;
/** Seals or opens one secret. */
type Secret = (value: unknown, path: string) => unknown;

/** Present in every text with a sealed value. In texts from users, quotes are escaped. */
export const sealedMark = '{"sealed';

export function documentsOf(kinds: Kinds, sealer: Sealer): Documents {
  const turns = new Map([...kinds.values()].map((kind) => [kind.name, turnFields(kind.fields)]));
  const sealed = ({ account_id, kind, id, doc }: StoredObject): Doc => {
    const turn = turns.get(kind);
    if (!turn) return doc;
    return turn(doc, "", (value, path) => ({
      sealed: sealer.seal(JSON.stringify(value), contextOf(account_id, kind, id, path)),
    })) as Doc;
  };
  const opened = (
    { account_id, kind, id }: Omit<ObjectRow, "doc">,
    doc: Record<string, unknown>,
  ): Record<string, unknown> => {
    const turn = turns.get(kind);
    if (!turn) return doc;
    return turn(doc, "", (value, path) => {
      const text = readSealedText(value);
      if (text === undefined) return value;
      return JSON.parse(sealer.open(text, contextOf(account_id, kind, id, path))) as unknown;
    }) as Record<string, unknown>;
  };
  /** Common values of the last object. Its neighbor usually has the same ones. */
  let last: { readonly text: string; readonly values: readonly unknown[] } = { text: "[]", values: [] };
  const packingNamed = (kind: string): Packing => {
    const { packing } = kindNamed(kinds, kind);
    if (!packing) throw new Error(`pack a ${kind}: its kind is not declared so`);
    return packing;
  };
  const objectOf = (
    { id, account_id, kind, revision, created_at }: Omit<ObjectRow, "doc">,
    doc: Record<string, unknown>,
  ): StoredObject =>
    Object.freeze({ kind, id, account_id, revision, created_at, doc: kindNamed(kinds, kind).complete(doc) });
  const valuesOf = (common: string): readonly unknown[] => {
    if (last.text !== common) last = { text: common, values: JSON.parse(common) as unknown[] };
    return last.values;
  };
  /** Returns the two lines of a text of `renderRow`; undefined for plain JSON, which has no line ends. */
  const linesOf = (text: string): PackedDoc | undefined => {
    const cut = text.indexOf("\n");
    if (cut < 0) return undefined;
    const common = text.slice(cut + 1);
    return { own: text.slice(0, cut), common: common === last.text ? last.text : common };
  };
  /** Returns a text of either form with its secrets replaced. */
  const turned = ({ kind, doc: text }: TextRow, turn: Turn, one: Secret): string => {
    const lines = linesOf(text);
    if (!lines) return JSON.stringify(turn(JSON.parse(text), "", one));
    const packing = packingNamed(kind);
    const doc = packing.unpack(JSON.parse(lines.own) as unknown[], valuesOf(lines.common));
    return rowOf(packing.pack(turn(doc, "", one) as Doc));
  };
  const sealLater: Documents["sealLater"] = (row) => {
    const { account_id, kind, id } = row;
    const turn = turns.get(kind);
    if (!turn) return row.doc;
    return turned(row, turn, (value, path) =>
      readSealedText(value) === undefined
        ? { sealed_later: sealer.seal(JSON.stringify(value), contextOf(account_id, kind, id, path)) }
        : value,
    );
  };
  const asWritten: Documents["asWritten"] = (row) => {
    const { account_id, kind, id, doc } = row;
    const turn = turns.get(kind);
    if (!turn || !doc.includes(laterMark)) return doc;
    try {
      return turned(row, turn, (value, path) =>
        isSealedLater(value)
          ? (JSON.parse(sealer.open(value.sealed_later, contextOf(account_id, kind, id, path))) as unknown)
          : value,
      );
    } catch {
      return doc;
    }
  };
  return {
    packs: (kind) => kindNamed(kinds, kind).packing !== undefined,
    seals: (kind) => turns.get(kind) !== undefined,
    asWritten,
    sealLater(row) {
      const text = sealLater(row);
      if (text === row.doc || asWritten({ ...row, doc: text }) === row.doc) return text;
      throw new Error(`seal ${row.kind} "${row.id}": its text could not be restored unchanged`);
    },
    render: (object) => JSON.stringify(sealed(object)),
    renderRow(object) {
      return rowOf(packingNamed(object.kind).pack(sealed(object)));
    },
    read({ doc: text, ...row }) {
      const lines = linesOf(text);
      if (!lines) return objectOf(row, opened(row, JSON.parse(text) as Record<string, unknown>));
      const { own, common } = lines;
      const doc = packingNamed(row.kind).unpack(JSON.parse(own) as unknown[], valuesOf(common));
      return objectOf(row, opened(row, doc));
    },
  };
}

function rowOf({ own, common }: PackedDoc): string {
  return `${own}\n${common}`;
}

function contextOf(accountId: string, kind: string, id: string, path: string): string {
  return `${accountId}\0${kind}\0${id}\0${path}`;
}

/** Present in every text that was sealed later. */
const laterMark = '"sealed_later":';

/**
 * Returns a value sealed when it was written, or later; undefined for a plain value, which stays until something seals
 * it.
 */
function readSealedText(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (isSealedLater(value)) return value.sealed_later;
  return "sealed" in value && typeof value.sealed === "string" ? value.sealed : undefined;
}

function isSealedLater(value: unknown): value is { readonly sealed_later: string } {
  return (
    typeof value === "object" && value !== null && "sealed_later" in value && typeof value.sealed_later === "string"
  );
}

function turnFields(fields: Fields): Turn | undefined {
  const turns = Object.entries(fields).flatMap(([name, field]): [string, Turn][] => {
    const turn = turnField(field);
    return turn ? [[inputName(name, field), turn]] : [];
  });
  if (turns.length === 0) return undefined;
  return (value, path, one) => {
    const copy: Record<string, unknown> = { ...(value as Doc) };
    for (const [key, turn] of turns) {
      const inner = copy[key];
      // Unset fields carry no information, and are by far the most common.
      if (inner !== null && inner !== undefined && inner !== "") copy[key] = turn(inner, joinPath(path, key), one);
    }
    return copy;
  };
}

function turnField(field: Field): Turn | undefined {
  if (field.live) return undefined;
  if (isSealedField(field)) return (value, path, one) => one(value, path);
  if (field.type === "object") return turnFields(field.fields);
  if (field.type !== "list" && field.type !== "map") return undefined;
  const turn = turnField(field.of);
  if (!turn) return undefined;
  if (field.type === "list") {
    return (value, path, one) =>
      (value as readonly unknown[]).map((item, index) => turn(item, `${path}[${index}]`, one));
  }
  return (value, path, one) =>
    Object.fromEntries(Object.entries(value as Doc).map(([key, item]) => [key, turn(item, joinPath(path, key), one)]));
}

function joinPath(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}
