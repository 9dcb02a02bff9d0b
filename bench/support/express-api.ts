/**
 * `node express-api.ts PORT FILE`: a typical API for bot users with Express and better-sqlite3. Each POST has a
 * separate commit and fsync.
 */
import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import Database from "better-sqlite3";
import express from "express";
import type { NextFunction, Request, Response } from "express";
import { apiKey } from "./postern.ts";

interface Row {
  readonly id: string;
  readonly name: string;
  readonly active: number;
  readonly created_at: string;
}

const [port, file] = process.argv.slice(2) as [string, string];
const database = new Database(file);
database.pragma("journal_mode = WAL");
database.pragma("synchronous = FULL");
database.exec(
  "CREATE TABLE bot_users (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, name TEXT UNIQUE, active INTEGER, created_at TEXT)",
);
const insert = database.prepare("INSERT INTO bot_users (id, name, active, created_at) VALUES (?, ?, ?, ?)");
const byId = database.prepare<[string], Row>("SELECT * FROM bot_users WHERE id = ?");
const page = database.prepare<[number], Row>("SELECT * FROM bot_users ORDER BY seq DESC LIMIT ?");

const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
const wanted = hash(`Bearer ${apiKey}`);
const show = (request: Request, { id, name, active, created_at }: Row) => {
  const uri = `${request.protocol}://${request.get("host")}/bot_users/${id}`;
  return { id, uri, created_at, name, active: active === 1 };
};

const app = express();
app.use((request: Request, response: Response, next: NextFunction) => {
  if (timingSafeEqual(hash(request.get("authorization") ?? ""), wanted)) next();
  else response.status(401).json({ error: "unauthorized" });
});
app.use(express.json());
app.post("/bot_users", (request, response) => {
  const { name, active = true } = request.body as { name?: unknown; active?: unknown };
  if (typeof name !== "string" || name === "" || name.length > 255 || typeof active !== "boolean") {
    response.status(400).json({ error: "invalid" });
    return;
  }
  const row = { id: randomUUID(), name, active: active ? 1 : 0, created_at: new Date().toISOString() };
  insert.run(row.id, row.name, row.active, row.created_at);
  response.status(201).json(show(request, row));
});
app.get("/bot_users", (request, response) => {
  const rows = page.all(101).slice(0, 100);
  response.json({ bot_users: rows.map((row) => show(request, row)), next: rows.at(-1)?.id ?? null });
});
app.get("/bot_users/:id", (request, response) => {
  const row = byId.get(request.params.id);
  if (row) response.json(show(request, row));
  else response.status(404).json({ error: "not found" });
});
app.listen(Number(port), "127.0.0.1");
