/** Inserts of many rows as texts that are made once: building them anew costs more than carrying them out. */
import { CompiledQuery } from "kysely";
import type { Database, Tables } from "./database.ts";

/** Rows per statement: far below what either database takes, and few shapes to prepare. */
const chunkRows = 64;

export type Dialect = Database["dialect"];

/** Makes the statements that insert rows of one table. */
export type Insert<Row> = (dialect: Dialect, rows: readonly Row[]) => Iterable<CompiledQuery>;

/**
 * @param columns every column, in the order of the values
 * @param onConflict what follows the values, where a row may be there already
 */
export function insertInto<Name extends keyof Tables>(
  table: Name,
  columns: readonly (keyof Tables[Name] & string)[],
  onConflict = "",
): Insert<Tables[Name]> {
  const texts: Record<Dialect, string[]> = { sqlite: [], postgres: [] };
  return function* (dialect, rows) {
    for (let at = 0; at < rows.length; at += chunkRows) {
      const end = Math.min(at + chunkRows, rows.length);
      const text = (texts[dialect][end - at] ??= insertText(table, columns, end - at, onConflict, dialect));
      const values: unknown[] = [];
      for (let index = at; index < end; index += 1) {
        const row = rows[index] as Tables[Name];
        for (const column of columns) values.push(row[column]);
      }
      yield CompiledQuery.raw(text, values);
    }
  };
}

function insertText(
  table: string,
  columns: readonly string[],
  rows: number,
  onConflict: string,
  dialect: Dialect,
): string {
  const place = (at: number): string => (dialect === "sqlite" ? "?" : `$${at + 1}`);
  const lists = Array.from({ length: rows }, (_, row) => {
    const places = columns.map((_, column) => place(row * columns.length + column));
    return `(${places.join(", ")})`;
  });
  return `insert into ${table} (${columns.map((name) => `"${name}"`).join(", ")}) values ${lists.join(", ")} ${onConflict}`;
}
