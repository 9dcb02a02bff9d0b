import { DatabaseSync } from "node:sqlite";

/** Opens the file such that every commit returns only when it is on disk (S1). */
export function connect(file: string): DatabaseSync {
  const connection = new DatabaseSync(file, { timeout: 5000 });
  try {
    connection.exec("pragma journal_mode = wal; pragma synchronous = full");
  } catch (error) {
    connection.close();
    throw new Error(`open database "${file}": it is not a database that SQLite can use`, { cause: error });
  }
  return connection;
}

/** Statements kept prepared; there are about forty, and one per number of rows for inserts. */
const maxStatements = 500;

/** Prepares each text once. */
export function preparing<Statement>(prepare: (sql: string) => Statement): (sql: string) => Statement {
  const statements = new Map<string, Statement>();
  return (sql) => {
    const known = statements.get(sql);
    if (known) return known;
    const statement = prepare(sql);
    if (statements.size >= maxStatements) statements.clear();
    statements.set(sql, statement);
    return statement;
  };
}
