import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { openServerStore, storeBut } from "../../../test/support/store.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import { silentLog } from "../../lib/log.ts";
import type { Store } from "../../storage/store.ts";
import { systemWrite } from "../operation/system-write.ts";
import { keepUsedMessages } from "./used-message-book.ts";

const kinds: ReadonlySet<string> = new Set(["used_message"]);

describe("one-time messages of identity providers", () => {
  const clock = makeManualClock();
  let store: Store;
  let accountId: string;
  let stop: () => Promise<void>;
  before(async () => void ({ store, accountId, stop } = await openServerStore(clock)));
  after(() => stop());

  const bookOf = (on = store) => {
    const book = keepUsedMessages(on, clock, silentLog);
    const claim = (key: string, goodForMs: number): Promise<string> =>
      new Promise((resolve) => {
        const untilMs = clock.now() + goodForMs;
        book.receive?.({ type: "message_claim", call: 1, accountId, key, untilMs }, {
          send: (answer: { readonly outcome?: string }) => resolve(answer.outcome ?? ""),
        } as never);
      });
    return { book, claim };
  };
  const stored = (): readonly string[] => Array.from(store.objects(kinds), ({ doc }) => String(doc["key"])).sort();

  it("I4: a one-time message can be claimed once at the control plane, also after a restart, until it expires", async () => {
    const { book, claim } = bookOf();
    assert.deepEqual(await Promise.all([claim("a", 90_000), claim("a", 90_000)]), ["first", "used"]);
    assert.equal(await claim("b", 300_000), "first");
    book.stop();
    const again = bookOf();
    assert.equal(await again.claim("a", 90_000), "used");
    clock.pass(60_000);
    assert.equal(await again.claim("a", 90_000), "used");
    assert.deepEqual(stored(), ["a", "b"]);
    clock.pass(60_000);
    await eventually(stored, (left) => left.length === 1);
    assert.deepEqual(stored(), ["b"]);
    assert.equal(await again.claim("a", 90_000), "first");
    again.book.stop();
  });

  it("I4: no one-time message can be claimed if the claim cannot be stored, and only the node with the job deletes old claims", async () => {
    const away = bookOf(storeBut(store, { write: () => Promise.reject(new Error("the database is away")) }));
    assert.equal(await away.claim("c", 90_000), "unknown");
    away.book.stop();
    const other = bookOf(storeBut(store, { jobs: { ...store.jobs, want: () => ({ isHeld: () => false }) } }));
    assert.equal(await other.claim("d", 1_000), "first");
    clock.pass(60_000);
    await store.write(systemWrite(accountId, "wait", clock), () => {});
    assert.ok(stored().includes("d"));
    other.book.stop();
  });

  it("I4: no one-time message can be claimed while an account has 10,000 unexpired ones", async () => {
    const until = formatTimestamp(clock.now() + 120_000);
    const { book, claim } = bookOf();
    const { length } = stored();
    await store.write(systemWrite(accountId, "fill", clock), (draft) => {
      for (let at = length; at < 9_999; at += 1) draft.create(accountId, "used_message", { key: `full ${at}`, until });
    });
    assert.equal(await claim("the last", 600_000), "first");
    assert.equal(await claim("one more", 600_000), "unknown");
    clock.pass(180_000);
    await eventually(stored, (left) => left.length < 100);
    assert.equal(await claim("one more", 600_000), "first");
    assert.equal(await claim("the last", 600_000), "used");
    book.stop();
  });
});
