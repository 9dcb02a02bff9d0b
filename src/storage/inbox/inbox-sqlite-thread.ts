/** The thread that reads and writes the inboxes' SQLite file. It answers each request in order. */
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { openFile, cacheStatements } from "../sqlite/sqlite-connection.ts";
import type { InboxStep, InboxRow } from "./inbox-engine.ts";
import type { PackedMessages } from "./packed-messages.ts";
import type { FromThread, ToThread } from "./sqlite-engine.ts";
import { putIn } from "./sqlite-put.ts";
import { tablesOf } from "./inbox-tables.ts";

/** Names of messages are random, so each message writes a page of its own: smaller pages are fewer bytes. */
const pageBytes = 2048;
/** Number of pages in the log from which a commit also runs a checkpoint, if the checkpoints beside it do not suffice. */
const mostLogPages = 32_000;

const port = parentPort as MessagePort;
const connection = openDatabase(workerData as string);
const statement = cacheStatements((sql) => {
  const prepared = connection.prepare(sql);
  return { prepared, isReader: prepared.columns().length > 0 };
});

function openDatabase(file: string): DatabaseSync {
  const opened = openFile(file, pageBytes);
  opened.exec(`pragma wal_autocheckpoint = ${mostLogPages}`);
  for (const text of tablesOf("sqlite")) opened.exec(text);
  return opened;
}

function rowsOf({ sql, parameters }: InboxStep): readonly InboxRow[] {
  const { prepared, isReader } = statement(sql);
  if (isReader) return prepared.all(...(parameters as SQLInputValue[])) as readonly InboxRow[];
  prepared.run(...(parameters as SQLInputValue[]));
  return [];
}

function runSteps(steps: readonly InboxStep[], messages: PackedMessages | undefined): readonly (readonly InboxRow[])[] {
  statement("begin immediate").prepared.run();
  try {
    const results = steps.map(rowsOf);
    if (messages) results.push(putIn((sql) => statement(sql).prepared, messages));
    statement("commit").prepared.run();
    return results;
  } catch (error) {
    if (connection.isTransaction) statement("rollback").prepared.run();
    throw error;
  }
}

port.on("message", (asked: ToThread) => {
  if (asked === undefined) {
    connection.close();
    port.close();
    return;
  }
  let answer: FromThread;
  try {
    answer = { call: asked.call, rows: asked.isRead ? asked.steps.map(rowsOf) : runSteps(asked.steps, asked.messages) };
  } catch (error) {
    answer = { call: asked.call, error };
  }
  port.postMessage(answer);
});
