/** The thread that reads and writes the inboxes' SQLite file. It answers each request in order. */
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { connect, preparing } from "../sqlite/connection.ts";
import type { InboxStep, Row } from "./engine.ts";
import type { FromThread, ToThread } from "./sqlite-engine.ts";
import { tablesOf } from "./tables.ts";

const port = parentPort as MessagePort;
const connection = open(workerData as string);
const statement = preparing((sql) => {
  const prepared = connection.prepare(sql);
  return { prepared, isReader: prepared.columns().length > 0 };
});

function open(file: string): DatabaseSync {
  const opened = connect(file);
  // Names of messages are random, so their pages change often: fewer checkpoints write each page less often.
  opened.exec("pragma wal_autocheckpoint = 8000");
  for (const text of tablesOf("sqlite")) opened.exec(text);
  return opened;
}

function rowsOf({ sql, parameters }: InboxStep): readonly Row[] {
  const { prepared, isReader } = statement(sql);
  if (isReader) return prepared.all(...(parameters as SQLInputValue[])) as readonly Row[];
  prepared.run(...(parameters as SQLInputValue[]));
  return [];
}

function write(steps: readonly InboxStep[]): readonly (readonly Row[])[] {
  statement("begin immediate").prepared.run();
  try {
    const results = steps.map(rowsOf);
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
    answer = { call: asked.call, rows: asked.isRead ? asked.steps.map(rowsOf) : write(asked.steps) };
  } catch (error) {
    answer = { call: asked.call, error };
  }
  port.postMessage(answer);
});
