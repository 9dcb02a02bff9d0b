import { resolve } from "node:path";
import { writeDirectly } from "../terminal/guarded-output.ts";
import { systemClock } from "../../lib/clock.ts";
import { silentLog } from "../../lib/log.ts";
import { settings } from "../../settings/settings.ts";
import { inboxFile, isUrl } from "../../storage/database-place.ts";
import { countUndelivered } from "../../storage/inbox/undelivered.ts";
import { moveDatabase } from "../../storage/move/move.ts";
import type { Moved, MoveOptions } from "../../storage/move/move.ts";
import { findSealingKey } from "../../storage/sealing/sealing-key.ts";
import { storedKinds } from "../../storage/opening/stored-kinds.ts";
import { defineCommand } from "../command/command.ts";
import { Failure, exitCodes } from "../process/exit.ts";

export const migrate = defineCommand({
  name: "migrate",
  doc: "Move everything to an empty database of either kind: objects, history, secrets, logins, event positions. Stop the server first. The command moves all data or none, and reads every row back before it finishes. The source stays unchanged.",
  operands: "FROM TO",
  least: 2,
  most: 2,
  settings: { data: settings.data, sealingKey: settings.sealingKey, json: settings.json },
  examples: [
    "postern migrate postern.db postgres://postern@db.example.com/postern --data /var/lib/postern",
    "postern migrate postgres://postern@db1.example.com/postern 'postgres://postern@db2.example.com/postern?passfile=/etc/postern/pgpass'",
  ],
  notes: [
    "FROM and TO have the format of --database. Other users of this machine can see the arguments of commands: store passwords in a",
    "file, and name it in the URL with ?passfile=.",
    "Webhooks in inboxes are not moved.",
  ],
  async run({ data, sealingKey, json }, [from = "", to = ""]) {
    const moved = await moveDatabase({
      from,
      to,
      dataDirectory: data,
      declarations: storedKinds,
      sealingKeys: sealingKeysIn(data, sealingKey),
      clock: systemClock,
      log: silentLog,
      progress: process.stderr.isTTY ? showProgress : () => undefined,
    })
      .finally(() => process.stderr.isTTY && writeDirectly(process.stderr, "\r\u001B[2K"))
      .catch((error: unknown) => {
        throw failureOf(error);
      });
    const webhooks = isUrl(from) ? undefined : inboxFile(resolve(data, from));
    const waiting = webhooks === undefined ? 0 : countUndelivered(webhooks);
    if (waiting > 0) {
      process.stderr.write(
        `postern: "${webhooks}" has undelivered webhooks (${waiting}), which were not moved: to deliver them, start the server on the old database, then migrate to an empty database again\n`,
      );
    }
    process.stdout.write(json ? `${JSON.stringify(reportOf(moved))}\n` : textOf(moved));
    return exitCodes.fine;
  },
});

function sealingKeysIn(data: string, text: string | undefined): readonly Buffer[] {
  try {
    return findSealingKey(data, text) ?? [];
  } catch (error) {
    throw new Failure("usage", (error as Error).message, { cause: error });
  }
}

function showProgress(...[table, rows, of]: Parameters<MoveOptions["progress"]>): void {
  writeDirectly(process.stderr, `\r\u001B[2K${table}: ${inGroups(rows)} of ${inGroups(of)}`);
}

/** Operators can fix `Unfit` and similar errors. All other errors are failures of a connection or disk. */
function failureOf(error: unknown): unknown {
  const { name, message, code, cause } = error as Error & { readonly code?: string };
  if (["DATABASE_HELD", "DATABASE_SEALED", "DATABASE_UNFIT"].includes(code ?? "")) {
    return new Failure("usage", message, { cause: error });
  }
  if (!["Error", "error"].includes(name)) return error;
  const why = cause instanceof Error ? `${message} (${cause.message})` : message;
  return new Failure("unexpected", why, { cause: error });
}

function reportOf({ revision, brokenAt, tables }: Moved): Readonly<Record<string, unknown>> {
  return { revision, history_broken_at: brokenAt ?? null, tables };
}

function textOf({ revision, brokenAt, tables }: Moved): string {
  const rows = Object.entries(tables).map(([name, { rows: count }]) => `  ${name.padEnd(14)}${inGroups(count)}\n`);
  const history =
    brokenAt === undefined
      ? "and the history is intact from its beginning."
      : `but the history is damaged at revision ${brokenAt}, as in the source.`;
  return `Moved everything up to revision ${revision}.\n\n${rows.join("")}\nEvery row was read back unchanged, ${history}\n`;
}

function inGroups(count: number): string {
  return count.toLocaleString("en");
}
