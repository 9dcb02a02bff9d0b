import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { openServerStore, storeBut } from "../../../test/support/store.ts";
import { silentLog } from "../../lib/log.ts";
import type { Upward } from "../../routing/planes/messages.ts";
import type { Store } from "../../storage/store.ts";
import { systemWrite } from "../operation/system-write.ts";
import { keepLastUses } from "./last-uses.ts";
import type { LastUses } from "./last-uses.ts";

const kinds: ReadonlySet<string> = new Set(["last_use"]);
const minute = 60_000;

describe("last uses of keys and tokens", () => {
  const clock = makeManualClock();
  let store: Store;
  let accountId: string;
  let writes = 0;
  let stop: () => Promise<void>;
  before(async () => void ({ store, accountId, stop } = await openServerStore(clock)));
  after(() => stop());

  const open = (): LastUses => {
    const write = (...given: Parameters<Store["write"]>) => {
      writes += 1;
      return store.write(...given);
    };
    return keepLastUses(storeBut(store, { write }), clock, silentLog);
  };
  let made = 0;
  const create = async (kind: string): Promise<string> => {
    made += 1;
    const doc = { description: "", metadata: "", token_hash: "", fingerprint: `${kind} ${made}`, acl: [], scopes: [] };
    const { result } = await store.write(systemWrite(accountId, "test", clock), (draft) =>
      draft.create(accountId, kind, { ...doc, owner_id: null, expires_at: null, operator: false }),
    );
    return result?.id ?? "";
  };
  const stored = (): readonly string[] =>
    Array.from(store.objects(kinds), ({ doc }) => `${String(doc["used_id"])} ${String(doc["used_at"])}`).sort();
  const timeOf = (ms = clock.now()): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

  it("last uses are stored together, at most once in ten minutes for each key, and survive a restart", async () => {
    const [key, other] = [await create("api_key"), await create("api_key")];
    const [uses, ofOtherNode] = [open(), open()];
    assert.equal(uses.at(key), null);
    writes = 0;
    uses.note(accountId, key);
    uses.note(accountId, other);
    const first = timeOf();
    assert.deepEqual([uses.at(key), stored()], [first, []]);
    clock.pass(minute);
    await eventually(stored, (now) => now.length === 2);
    assert.equal(writes, 1);
    assert.equal(ofOtherNode.at(key), first);
    for (let passed = 0; passed < 8; passed += 1) {
      uses.note(accountId, key);
      clock.pass(minute);
    }
    await store.write(systemWrite(accountId, "wait", clock), () => {});
    assert.equal(writes, 1, "within ten minutes");
    uses.note(accountId, key);
    clock.pass(minute);
    await eventually(stored, (now) => !now.includes(`${key} ${first}`));
    assert.ok(stored().includes(`${other} ${first}`));
    assert.equal(writes, 2);
    uses.note(accountId, key);
    const last = uses.at(key);
    await Promise.all([uses.stop(), ofOtherNode.stop()]);
    const again = open();
    assert.equal(again.at(key), last);
    await again.stop();
  });

  it("the last use of an agent token is the present while an agent is connected, and then the end of its session", async () => {
    const token = await create("credential");
    const uses = open();
    const line = { edgeId: "edge", send: () => {} };
    const session = { id: "ts_1", accountId, credentialId: token };
    uses.receive({ type: "session_opened", session } as unknown as Upward, line);
    clock.pass(11 * minute);
    await eventually(
      () => uses.at(token),
      (at) => at === timeOf(),
    );
    clock.pass(minute / 2);
    uses.receive({ type: "session_closed", sessionId: "ts_1" }, line);
    const end = timeOf();
    clock.pass(11 * minute);
    assert.equal(uses.at(token), end);
    await eventually(stored, (now) => now.includes(`${token} ${end}`));
    await uses.stop();
  });

  it("an edge reports the uses of service tokens, and an edge that is gone no longer counts as a use", async () => {
    const uses = open();
    const line = { edgeId: "edge", send: () => {} };
    uses.receive({ type: "token_activity", used: [[accountId, "svctok_1", clock.now()]] }, line);
    assert.equal(uses.at("svctok_1"), timeOf());
    const session = { id: "ts_2", accountId, credentialId: "cr_2" };
    uses.receive({ type: "session_opened", session } as unknown as Upward, line);
    const opened = timeOf();
    uses.receive({ type: "gone" }, line);
    clock.pass(5 * minute);
    assert.equal(uses.at("cr_2"), opened);
    await uses.stop();
  });

  it("the last use of a deleted key is deleted, also if the key was deleted while the server was stopped", async () => {
    const [key, other] = [await create("api_key"), await create("api_key")];
    const remove = (kind: string, id: string) =>
      store.write(systemWrite(accountId, "test", clock), (draft) => {
        const object = draft.get(accountId, kind, id);
        if (object) draft.delete(object);
      });
    const uses = open();
    uses.note(accountId, key);
    uses.note(accountId, other);
    clock.pass(minute);
    await eventually(stored, (now) => [key, other].every((id) => now.some((one) => one.startsWith(id))));
    await remove("api_key", key);
    clock.pass(minute);
    await eventually(stored, (now) => !now.some((one) => one.startsWith(key)));
    await uses.stop();
    await remove("api_key", other);
    const again = open();
    clock.pass(minute);
    await eventually(stored, (now) => !now.some((one) => one.startsWith(other)));
    await again.stop();
  });

  it("a use that cannot be stored is stored a minute later", async () => {
    const key = await create("api_key");
    let isAway = true;
    const write = (...given: Parameters<Store["write"]>) =>
      isAway ? Promise.reject(new Error("the database is away")) : store.write(...given);
    const uses = keepLastUses(storeBut(store, { write }), clock, silentLog);
    uses.note(accountId, key);
    clock.pass(minute);
    await new Promise(setImmediate);
    isAway = false;
    clock.pass(minute);
    await eventually(stored, (now) => now.some((one) => one.startsWith(key)));
    await uses.stop();
  });
});
