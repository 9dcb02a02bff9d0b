/**
 * Packs the objects that older versions stored of kinds that are now packed. It changes only the form of their rows:
 * sealed values stay sealed.
 */
import type { Log } from "../../lib/log.ts";
import type { Doc } from "../../schema/doc.ts";
import { carryOut } from "../database/database.ts";
import type { Database, Tables, Transaction } from "../database/database.ts";
import type { Kind, Kinds } from "../rows/kinds.ts";
import { putObjects } from "../rows/record.ts";

/** Rows in memory at a time. */
const step = 500;

/** Work that a migration leaves until everything is sealed. */
export const toPack = "pack stored objects";

export async function packStored(database: Database, kinds: Kinds, log: Log): Promise<void> {
  const pending = await database.reads.selectFrom("pending").select("name").where("name", "=", toPack).execute();
  if (pending.length === 0) return;
  const rows = await database.transact(async (transaction) => {
    let packed = 0;
    for (const kind of kinds.values()) if (kind.packing) packed += await packKind(database, transaction, kind);
    await transaction.deleteFrom("pending").where("name", "=", toPack).execute();
    return packed;
  });
  if (rows > 0) log.info("sessions and users of logins are now packed", { rows });
}

async function packKind({ dialect }: Database, transaction: Transaction, kind: Kind): Promise<number> {
  let count = 0;
  for (let last = ""; ;) {
    const rows = await transaction
      .selectFrom("objects")
      .selectAll()
      .where("id", ">", last)
      .where("kind", "=", kind.name)
      .orderBy("id")
      .limit(step)
      .execute();
    const packed = rows.map((row): Tables["objects"] => ({ ...row, doc: packedText(kind, row.doc) }));
    await carryOut(transaction, [...putObjects(dialect, packed)]);
    count += rows.length;
    if (rows.length < step) return count;
    last = rows.at(-1)?.id as string;
  }
}

function packedText({ name, packing }: Kind, text: string): string {
  const doc = JSON.parse(text) as Record<string, unknown>;
  const lines = packing?.pack(name === "application_session" ? withLoginApart(doc) : doc);
  return lines ? `${lines.own}\n${lines.common}` : text;
}

/** Earlier sessions stored everything in `login`. Now the fields that differ between sessions are beside it. */
function withLoginApart(doc: Doc): Doc {
  if (typeof doc["login"] !== "string" || doc["login"] === "") return doc;
  const { loginAt, checkedAt, endsAt = 0, identity = {}, ...login } = JSON.parse(doc["login"]) as Record<string, never>;
  const said = identity as Readonly<Record<string, unknown>>;
  return {
    ...doc,
    login: JSON.stringify(login),
    login_at: loginAt,
    checked_at: checkedAt,
    ends_at: endsAt,
    identity: {
      subject: said["subject"],
      email: said["email"],
      email_verified: said["emailVerified"],
      name: said["name"],
      username: said["username"],
      memberships: said["memberships"],
      provider_session: said["providerSession"],
      authenticated_at: said["authenticatedAt"],
      managed_domain: said["managedDomain"],
    },
  };
}
