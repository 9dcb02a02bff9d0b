/** Statements for many rows, whose texts are built once: building them costs more than executing them. */
import type { Database, DatabaseStep, Tables } from "./database.ts";

/** Rows per statement: far below the limit of either database, and few shapes to prepare. */
const chunkRows = 64;

export type Dialect = Database["dialect"];

/** Returns the statements that insert rows of one table. */
export type Insert<Row> = (dialect: Dialect, rows: readonly Row[]) => Iterable<DatabaseStep>;

/**
 * @param columns every column, in the order of the values
 * @param onConflict text after the values, if rows may already exist
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
      yield { sql: text, parameters: values };
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
  const lists = Array.from({ length: rows }, (_, row) => {
    const places = columns.map((_, column) => renderPlaceholder(dialect, row * columns.length + column));
    return `(${places.join(", ")})`;
  });
  return `insert into ${table} (${columns.map((name) => `"${name}"`).join(", ")}) values ${lists.join(", ")} ${onConflict}`;
}

/** Returns the statements that delete rows by the values of a column. */
export function deleteFrom<Name extends keyof Tables>(
  table: Name,
  column: keyof Tables[Name] & string,
): (dialect: Dialect, values: readonly string[]) => Iterable<DatabaseStep> {
  const texts: Record<Dialect, string[]> = { sqlite: [], postgres: [] };
  return function* (dialect, values) {
    for (let at = 0; at < values.length; at += chunkRows) {
      const parameters = values.slice(at, at + chunkRows);
      const places = parameters.map((_, index) => renderPlaceholder(dialect, index));
      yield {
        sql: (texts[dialect][places.length] ??= `delete from ${table} where "${column}" in (${places.join(", ")})`),
        parameters,
      };
    }
  };
}

/** Returns parameter number `at` of a statement, counted from 0. */
export function renderPlaceholder(dialect: Dialect, at: number): string {
  return dialect === "sqlite" ? "?" : `$${at + 1}`;
}
