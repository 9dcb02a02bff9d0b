/** The thread that makes SQLite's commits. It receives the steps of one transaction at a time, and replies to each. */
import type { SQLInputValue } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { openFile, cacheStatements } from "./sqlite-connection.ts";
import type { FileCommitOutcome, ToThread } from "./file-commits.ts";

const port = parentPort as MessagePort;
const connection = openFile(workerData as string);
const statement = cacheStatements((sql) => connection.prepare(sql));

function storeSteps(steps: NonNullable<ToThread>): FileCommitOutcome {
  let committing = false;
  try {
    statement("begin immediate").run();
    for (const { sql, parameters, changes } of steps) {
      const done = statement(sql).run(...(parameters as SQLInputValue[]));
      if (changes === undefined || Number(done.changes) === changes) continue;
      statement("rollback").run();
      return { is: "unmet" };
    }
    committing = true;
    statement("commit").run();
    return { is: "stored" };
  } catch (error) {
    if (connection.isTransaction) statement("rollback").run();
    return { is: committing ? "in doubt" : "failed", error };
  }
}

port.on("message", (steps: ToThread) => {
  if (steps) port.postMessage(storeSteps(steps));
  else {
    connection.close();
    port.close();
  }
});
