/** The statements that lease and end messages. Texts differ only in the clock and in how rows are locked. */
import type { InboxEngine } from "./inbox-engine.ts";

export type Statements = ReturnType<typeof statementsFor>;

const open = "('waiting', 'blocked', 'sending')";
const mine = "seq = ? and holder = ? and state = 'sending' and attempts = ?";

/** @param now expression for the present time */
export function statementsFor(now: string, dialect: InboxEngine["dialect"]) {
  // Two nodes then take different messages instead of waiting for each other.
  const skipping = dialect === "postgres" ? "for update skip locked" : "";
  return {
    claim: `update inbox_messages set state = 'sending', holder = ?, lease_ms = ${now} + cast(? as bigint),
        attempts = attempts + 1
      where seq in (select seq from inbox_messages where route_id = ? and state = 'waiting' and due_ms <= ${now}
        order by due_ms, seq limit ${renderLeast("cast(? as bigint)", "cast(? as bigint) - (select count(*) from inbox_messages where route_id = ? and state = 'sending')", dialect)} ${skipping})
      returning seq, id, account_id, route_id, attempts, restarted_at, line, bytes`,
    putAttempt: `insert into inbox_attempts (seq, number, at_ms, duration_ms, status, error, node)
      select seq, cast(? as integer), ${now} - cast(? as bigint), cast(? as integer), cast(? as integer), cast(? as text),
        cast(? as text)
      from inbox_messages where ${mine}`,
    retry: `update inbox_messages set state = 'waiting', holder = null, due_ms = ${now} + cast(? as bigint),
        status = cast(? as integer), error = cast(? as text) where ${mine}`,
    giveBack: `update inbox_messages set state = 'waiting', holder = null, attempts = attempts - 1,
        error = cast(? as text) where ${mine}`,
    end: `update inbox_messages set state = ?, holder = null, ended_ms = ${now}, status = cast(? as integer),
        error = cast(? as text), purge_ms = ${now} + cast(? as bigint) where ${mine}`,
    promote: `update inbox_messages set state = 'waiting' where state = 'blocked' and seq = (select min(seq)
        from inbox_messages where route_id = ? and line = ? and state in ${open})`,
    renew: `update inbox_messages set lease_ms = ${now} + cast(? as bigint) where state = 'sending' and holder = ?`,
    free: `update inbox_messages set state = 'waiting', holder = null where state = 'sending' and lease_ms < ${now}`,
    freeOthers: "update inbox_messages set state = 'waiting', holder = null where state = 'sending' and holder <> ?",
    routes: `with recursive found (route_id) as (
        select min(route_id) from inbox_messages where state = 'waiting'
        union all
        select (select min(route_id) from inbox_messages where state = 'waiting' and route_id > found.route_id)
        from found where found.route_id is not null
      ) select route_id from found where route_id is not null`,
    nextDue: `select min(due_ms) - ${now} as wait from inbox_messages where route_id = ? and state = 'waiting'`,
  };
}

function renderLeast(one: string, other: string, dialect: InboxEngine["dialect"]): string {
  // A negative limit means no limit in SQLite, and an error in PostgreSQL.
  return dialect === "sqlite" ? `max(0, min(${one}, ${other}))` : `greatest(0, least(${one}, ${other}))`;
}
