/** Random writes to random servers of one database, while servers are killed, suspended and restarted. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { startNode } from "../support/nodes.ts";
import type { NodeReply, ServerNode } from "../support/nodes.ts";
import { checkHistory } from "../support/node-history.ts";
import type { Action, Call, Written } from "../support/node-history.ts";
import { databases } from "../support/postgres.ts";
import { skipWithoutPostgres } from "../support/programs.ts";

const postgres = databases.find(({ name }) => name === "postgres");
const clients = 6;
const names = Array.from({ length: 5 }, (_, at) => `n${at}.example.com:443`);

/** What a client knows about an object from the last response. */
interface Known {
  readonly id: string;
  readonly etag: string;
}

describe("servers that share a database", { timeout: 120_000, skip: skipWithoutPostgres }, () => {
  it("S1: servers that share a database, written to at random while they are killed and suspended, agree on one history that confirms every response", async () => {
    const place = await (postgres as NonNullable<typeof postgres>).create();
    const env = { POSTERN_API_RATE: "1000000" };
    const nodes = await Promise.all([0, 1, 2].map(() => startNode(place.url, env)));
    const calls: Call[] = [];
    const known: Known[] = [];
    const over = new AbortController();
    const pick = <T>(of: readonly T[]): T => of[Math.floor(Math.random() * of.length)] as T;

    const call = async (node: ServerNode, token: string, action: Action): Promise<Call> => {
      const began = performance.now();
      const reply = await send(node, token, action).catch(() => undefined);
      const isKnown = reply !== undefined && (reply.status < 500 || reply.status === 503);
      const made: Call = {
        token,
        action,
        began,
        ended: performance.now(),
        status: isKnown ? reply.status : undefined,
        id: action.name === "create" ? ((reply?.body["id"] as string | undefined) ?? "") : action.id,
        etag: reply?.etag ?? `none of ${token}`,
        revision: Number(reply?.headers.get("postern-revision") ?? 0),
      };
      calls.push(made);
      return made;
    };
    const work = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const token = randomUUID();
        const hostport = pick(names);
        const at = Math.floor(Math.random() * known.length);
        const object = known[at];
        if (!object || Math.random() < 0.3) {
          const action: Action = { name: "create", hostport, key: token };
          const repeated = Math.random() < 0.3 ? [pick(nodes), pick(nodes)] : [pick(nodes)];
          const made = await Promise.all(repeated.map((node) => call(node, token, action)));
          for (const { status, id, etag } of made.slice(0, 1)) if (status === 201) known.push({ id, etag });
          continue;
        }
        const isDelete = Math.random() < 0.3;
        const base = { id: object.id, ifMatch: object.etag };
        const made = await call(
          pick(nodes),
          token,
          isDelete ? { name: "delete", ...base } : { name: "update", hostport, ...base },
        );
        const present = known.indexOf(object);
        if (present < 0) continue;
        // An object in an unknown state, or owned by another client, is not used any more.
        if (made.status === 200) known[present] = { id: object.id, etag: made.etag };
        else if (made.status !== 409 && made.status !== 412) known.splice(present, 1);
      }
    };
    const [one, other, third] = nodes as [ServerNode, ServerNode, ServerNode];
    const working = Promise.all(Array.from({ length: clients }, work));
    const more = async (count: number): Promise<void> => {
      const wanted = calls.length + count;
      while (calls.length < wanted) await new Promise((resume) => setTimeout(resume, 10));
    };
    await more(150);
    await third.end("SIGKILL");
    await more(50);
    nodes[2] = await startNode(place.url, env);
    await more(50);
    process.kill(other.pid, "SIGSTOP");
    await one.until("/metrics", ({ text }) => /^postern_nodes 2$/m.test(text));
    process.kill(other.pid, "SIGCONT");
    await more(150);
    over.abort();
    await working;

    const histories = await Promise.all(nodes.map(historyAt));
    for (const history of histories) assert.deepEqual(history, histories[0]);
    const history = histories[0] as readonly Written[];
    checkHistory(calls, history);
    checkTheCheck(calls, history);
    const statuses = new Set(calls.map(({ status }) => status));
    for (const status of [201, 200, 204, 409, 412]) assert.ok(statuses.has(status), String(status));
    await Promise.all(nodes.map((node) => node.end()));
    await place.drop();
  });
});

/** Checks the check: inserts faults into a history that it has accepted. */
function checkTheCheck(calls: readonly Call[], history: readonly Written[]): void {
  const changed = calls.findLast(({ status, action }) => status === 200 && action.name === "update") as Call;
  const before = { ...changed.action, ifMatch: "of another time" } as Action;
  // Replaces the call in its place, because other calls build on it later.
  const instead = (altered: Partial<Call>): readonly Call[] =>
    calls.map((one) => (one === changed ? { ...changed, ...altered } : one));
  assert.throws(() => checkHistory(calls, history.toSpliced(5, 1)), /a revision is missing/);
  assert.throws(() => checkHistory(instead({ revision: 1 }), history), /acknowledged and not there/);
  assert.throws(() => checkHistory(instead({ action: before }), history), /a lost update/);
  assert.throws(() => checkHistory(instead({ began: -2, ended: -1 }), history), /was answered before/);
  const refused = { ...changed, token: "refused", status: 404, ended: -1 };
  assert.throws(() => checkHistory([...calls, refused], history), /refused for no reason/);
}

function send(node: ServerNode, token: string, action: Action): Promise<NodeReply> {
  const reason = { "postern-reason": token };
  if (action.name === "create") {
    const once = { ...reason, "idempotency-key": action.key };
    return node.call("POST", "/edges/https", { hostports: [action.hostport], description: token }, once);
  }
  const conditional = { ...reason, "if-match": action.ifMatch };
  const path = `/edges/https/${action.id}`;
  return action.name === "delete"
    ? node.call("DELETE", path, undefined, conditional)
    : node.call("PATCH", path, { hostports: [action.hostport], description: token }, conditional);
}

/** Returns every revision that the server knows, oldest first. */
async function historyAt(node: ServerNode): Promise<readonly Written[]> {
  const found: Written[] = [];
  for (let path: string | null = "/revisions"; path !== null;) {
    const { body } = await node.call("GET", path);
    found.push(...(body["revisions"] as readonly Written[]));
    const next = body["next_page_uri"] as string | null;
    path = next && next.slice(node.apiUrl.length);
  }
  return found.toReversed().map(({ revision, reason, changes }) => ({
    revision,
    reason,
    changes: changes.map(({ action, id, fields }) => ({ action, id, fields })),
  }));
}
