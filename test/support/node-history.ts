/** Compares what clients of several servers did and saw with the servers' common history. */
import assert from "node:assert/strict";

export type Action =
  | { readonly name: "create"; readonly hostport: string; readonly key: string }
  | { readonly name: "update"; readonly id: string; readonly hostport: string; readonly ifMatch: string }
  | { readonly name: "delete"; readonly id: string; readonly ifMatch: string };

/** One call, between two moments of one clock. Without a status, its outcome is unknown. */
export interface Call {
  /** Unique per call, and the reason in the history. Repetitions with the same Idempotency-Key share it. */
  readonly token: string;
  readonly action: Action;
  readonly began: number;
  readonly ended: number;
  readonly status: number | undefined;
  readonly id: string;
  readonly etag: string;
  readonly revision: number;
}

/** A revision as the API returns it. */
export interface Written {
  readonly revision: number;
  readonly reason: string;
  readonly changes: readonly {
    readonly action: string;
    readonly id: string;
    readonly fields: readonly { readonly path: string; readonly after: unknown }[];
  }[];
}

interface Version {
  readonly revision: number;
  /** undefined if the object was deleted. */
  readonly hostport: string | undefined;
}

/**
 * Checks that every acknowledged write is in the history once, with the values of its request. The order is
 * linearisable: a call that starts after a response comes after that response's call. No two objects hold a name at the
 * same time, and every rejection was correct at some moment between call and response.
 */
export function checkHistory(calls: readonly Call[], history: readonly Written[]): void {
  history.forEach(({ revision }, at) => assert.equal(revision, at + 1, "a revision is missing"));
  const byToken = Map.groupBy(calls, ({ token }) => token);
  const written = history.filter(({ reason }) => byToken.has(reason));
  assert.equal(new Set(written.map(({ reason }) => reason)).size, written.length, "a write was carried out twice");
  const revisionOf = new Map(written.map(({ reason, revision }) => [reason, revision]));
  const versions = replay(written);
  const done = calls.filter(isDone);
  const etags = new Map(done.map(({ etag, revision }) => [etag, revision]));
  for (const call of done) {
    const revision = revisionOf.get(call.token);
    assert.equal(revision, call.revision, `acknowledged and not there: ${JSON.stringify(call)}`);
    const version = versions.get(call.id)?.find((one) => one.revision === revision);
    const wanted = call.action.name === "delete" ? undefined : call.action.hostport;
    assert.ok(version && version.hostport === wanted, JSON.stringify(call));
    if (call.action.name !== "create") {
      const before = versions.get(call.id)?.findLast((one) => one.revision < call.revision);
      assert.equal(before?.revision, etags.get(call.action.ifMatch), `a lost update: ${JSON.stringify(call)}`);
    }
  }
  for (const [at, { reason, revision }] of written.entries()) {
    // A rejection proves nothing about a repetition with the same key that another server processes at the same time.
    const answered = Math.min(...(byToken.get(reason) ?? []).map((one) => (isDone(one) ? one.ended : Infinity)));
    for (const earlier of written.slice(0, at)) {
      const asked = Math.min(...(byToken.get(earlier.reason) ?? []).map(({ began }) => began));
      assert.ok(answered >= asked, `revision ${revision} was answered before ${earlier.revision} was asked for`);
    }
  }
  const tokens = new Map(written.map(({ reason, revision }) => [revision, reason]));
  const callsOf = (revision: number): readonly Call[] => byToken.get(tokens.get(revision) ?? "") ?? [];
  for (const call of calls) {
    if (call.status === undefined || call.status < 400) continue;
    assert.ok(isRight(call, versions, etags, callsOf), `refused for no reason: ${JSON.stringify(call)}`);
  }
}

function isDone({ status = 0 }: Call): boolean {
  return status >= 200 && status < 300;
}

/** Returns the versions of each object, and checks that no two objects hold one name at any revision. */
function replay(written: readonly Written[]): ReadonlyMap<string, readonly Version[]> {
  const versions = new Map<string, Version[]>();
  const holders = new Map<string, string>();
  for (const { revision, changes } of written) {
    for (const { action, id, fields } of changes) {
      const of = versions.get(id) ?? [];
      versions.set(id, of);
      const before = of.at(-1)?.hostport;
      const changed = fields.find(({ path }) => path === "hostports")?.after as readonly string[] | undefined;
      const hostport = action === "delete" ? undefined : (changed?.[0] ?? before);
      if (before !== undefined && before !== hostport) holders.delete(before);
      if (hostport !== undefined && hostport !== before) {
        assert.equal(holders.get(hostport), undefined, `"${hostport}" was given twice at revision ${revision}`);
        holders.set(hostport, id);
      }
      of.push({ revision, hostport });
    }
  }
  return versions;
}

/** Whether the rejection was correct at some moment between the call and its response. */
function isRight(
  { action, status, began, ended }: Call,
  versions: ReadonlyMap<string, readonly Version[]>,
  etags: ReadonlyMap<string, number>,
  callsOf: (revision: number) => readonly Call[],
): boolean {
  const mayPrecede = ({ revision }: Version): boolean => callsOf(revision).some((one) => one.began < ended);
  const mayFollow = ({ revision }: Version): boolean =>
    callsOf(revision).every((one) => one.status === undefined || one.ended > began);
  if (status === 503) return true;
  if (status === 409 && action.name !== "delete") {
    return [...versions.values()].some((of) =>
      of.some((version, at) => {
        const next = of.slice(at + 1).find(({ hostport }) => hostport !== action.hostport);
        return version.hostport === action.hostport && mayPrecede(version) && (!next || mayFollow(next));
      }),
    );
  }
  if (action.name === "create") return false;
  const of = versions.get(action.id) ?? [];
  if (status === 404) return of.some((version) => version.hostport === undefined && mayPrecede(version));
  const known = etags.get(action.ifMatch) ?? Infinity;
  return status === 412 && of.some((version) => version.revision > known && mayPrecede(version));
}
