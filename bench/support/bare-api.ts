/**
 * The baseline of the API: bare `node:http`. `node bare-api.ts PORT get BODY` responds with fixed bytes and the API's
 * header fields. `… post FILE` stores each body in SQLite with a separate commit and fsync.
 */
import { createServer } from "node:http";
import { DatabaseSync } from "node:sqlite";

const [port, mode, argument] = process.argv.slice(2) as [string, "get" | "post", string];

if (mode === "get") {
  const { headers, body } = JSON.parse(argument) as { headers: string[]; body: string };
  const bytes = Buffer.from(body);
  createServer((_request, response) => {
    response.writeHead(200, headers);
    response.end(bytes);
  }).listen(Number(port), "127.0.0.1");
} else {
  const database = new DatabaseSync(argument);
  database.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE bots (id INTEGER PRIMARY KEY, doc TEXT NOT NULL)",
  );
  const insert = database.prepare("INSERT INTO bots (doc) VALUES (?)");
  createServer((request, response) => {
    let text = "";
    request.on("data", (bytes: Buffer) => (text += bytes.toString()));
    request.on("end", () => {
      const doc = JSON.stringify({
        ...(JSON.parse(text) as object),
        active: true,
        created_at: new Date().toISOString(),
      });
      insert.run(doc);
      response.writeHead(201, { "content-type": "application/json" });
      response.end(doc);
    });
  }).listen(Number(port), "127.0.0.1");
}
