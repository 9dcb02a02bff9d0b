/** Documents between memory, where secrets are open, and the database, where they are sealed. */
import type { Field, Fields } from "../schema/fields.ts";
import { inputName } from "../schema/parse.ts";
import type { Doc, Kind, Kinds } from "./kinds.ts";
import type { Sealer } from "./sealing.ts";
import type { StoredObject } from "./store.ts";
import { kindNamed } from "./view.ts";

interface ObjectRow {
  readonly id: string;
  readonly account_id: string;
  readonly kind: string;
  readonly revision: number;
  readonly created_at: string;
  readonly doc: string;
}

export interface Documents {
  /** The document as text for the database. */
  render(object: StoredObject): string;
  /** @throws Error when the row's kind is not declared, or a secret in it does not open */
  read(row: ObjectRow): StoredObject;
}

/** Replaces the secrets in a value; undefined when the field cannot hold any. */
type Turn = (value: unknown, path: string, one: Secret) => unknown;
/** Seals or opens one secret. */
type Secret = (value: unknown, path: string) => unknown;

export function documentsOf(kinds: Kinds, sealer: Sealer): Documents {
  const turns = new Map([...kinds.values()].map((kind) => [kind.name, turnFields(kind.fields)]));
  return {
    render({ account_id, kind, id, doc }) {
      const turn = turns.get(kind);
      if (!turn) return JSON.stringify(doc);
      return JSON.stringify(
        turn(doc, "", (value, path) => ({
          sealed: sealer.seal(JSON.stringify(value), contextOf(account_id, kind, id, path)),
        })),
      );
    },
    read({ id, account_id, kind, revision, created_at, doc: text }) {
      const declared: Kind = kindNamed(kinds, kind);
      const turn = turns.get(kind);
      let doc = JSON.parse(text) as Record<string, unknown>;
      if (turn) {
        doc = turn(doc, "", (value, path) =>
          isSealed(value)
            ? (JSON.parse(sealer.open(value.sealed, contextOf(account_id, kind, id, path))) as unknown)
            : value,
        ) as Record<string, unknown>;
      }
      return Object.freeze({ kind, id, account_id, revision, created_at, doc: declared.complete(doc) });
    },
  };
}

function contextOf(accountId: string, kind: string, id: string, path: string): string {
  return `${accountId}\0${kind}\0${id}\0${path}`;
}

/** A field that became secret only later has plain values until its objects are written again. */
function isSealed(value: unknown): value is { readonly sealed: string } {
  return typeof value === "object" && value !== null && "sealed" in value && typeof value.sealed === "string";
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
      // Unset says nothing, and is by far the most common.
      if (inner !== null && inner !== undefined && inner !== "") copy[key] = turn(inner, join(path, key), one);
    }
    return copy;
  };
}

function turnField(field: Field): Turn | undefined {
  if (field.live) return undefined;
  if (field.secret) return (value, path, one) => one(value, path);
  if (field.type === "object") return turnFields(field.fields);
  if (field.type !== "list" && field.type !== "map") return undefined;
  const turn = turnField(field.of);
  if (!turn) return undefined;
  if (field.type === "list") {
    return (value, path, one) =>
      (value as readonly unknown[]).map((item, index) => turn(item, `${path}[${index}]`, one));
  }
  return (value, path, one) =>
    Object.fromEntries(Object.entries(value as Doc).map(([key, item]) => [key, turn(item, join(path, key), one)]));
}

function join(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}
