import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { openServerStore } from "../../../test/support/store.ts";
import type { ServerStore } from "../../../test/support/store.ts";
import { openLiveObjects } from "./live-objects.ts";
import type { Agents } from "../../directory/replica.ts";

let server: ServerStore;
before(async () => {
  server = await openServerStore(makeManualClock());
});
after(() => server.stop());

describe("lists of live objects", () => {
  it("D9: lists of live objects are sorted once for all pages, and again after a change", () => {
    const { store, accountId } = server;
    const ids = Array.from({ length: 1000 }, (_, at) => `ts_${String(at).padStart(4, "0")}`);
    let read = 0;
    let changes = 0;
    const others = {
      get changes() {
        return changes;
      },
      count: () => ids.length,
      session: (id: string) => ({ id, accountId, credentialId: "cr_1", metadata: "", startedAt: "", ip: "" }),
      *ids() {
        for (const id of ids) {
          read += 1;
          yield id;
        }
      },
    } as unknown as Agents;
    const live = openLiveObjects(
      store,
      () => [others],
      () => [],
    );
    const all = (): readonly string[] => {
      const found: string[] = [];
      for (let more = true; more;) {
        const page = live.page(accountId, "tunnel_session", { limit: 100, beforeId: found.at(-1) });
        found.push(...page.objects.map(({ id }) => id));
        ({ more } = page);
      }
      return found;
    };
    assert.deepEqual(all(), ids.toReversed());
    assert.equal(read, ids.length);
    ids.push("ts_1000");
    changes += 1;
    assert.deepEqual(all(), ids.toReversed());
    assert.equal(read, 2 * ids.length - 1);
  });
});
