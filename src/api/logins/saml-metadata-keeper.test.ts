import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { startMetadataServer } from "../../../test/support/metadata-server.ts";
import type { MetadataServer } from "../../../test/support/metadata-server.ts";
import { derOf, makeProviderKeys, metadataXml } from "../../../test/support/saml-idp.ts";
import { openServerStore, storeBut } from "../../../test/support/store.ts";
import type { ServerStore } from "../../../test/support/store.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import { silentLog } from "../../lib/log.ts";
import { makeMetrics } from "../../lib/metrics.ts";
import { httpsEdge } from "../../resources/https-edge.ts";
import { httpsEdgeRoute } from "../../resources/https-edge-route.ts";
import { samlMetadata } from "../../resources/saml-metadata.ts";
import { emptyDoc } from "../../schema/doc.ts";
import type { Store } from "../../storage/store.ts";
import { systemWrite } from "../operation/system-write.ts";
import { keepSamlMetadata } from "./saml-metadata-keeper.ts";

const kinds: ReadonlySet<string> = new Set(["saml_metadata"]);

describe("keeper of metadata with an address", () => {
  const clock = makeManualClock();
  let provider: MetadataServer;
  let server: ServerStore;
  before(async () => {
    [provider, server] = await Promise.all([startMetadataServer(), openServerStore(clock)]);
    const certificates = [derOf((await makeProviderKeys()).certificatePem)];
    provider.serve(metadataXml({ certificates, redirect: "https://id.example/sso" }));
  });
  after(async () => {
    provider.stop();
    await server.stop();
  });
  const keeperOf = (store: Store) =>
    keepSamlMetadata({ store, clock, log: silentLog, metrics: makeMetrics(), allowLocal: true, ca: undefined });
  const metadataIn = (): readonly string[] =>
    Array.from(server.store.objects(kinds), ({ doc }) => String(doc["metadata"]));
  /** No time passes, so this covers immediate looks only. */
  const found = async (count: number): Promise<void> =>
    assert.equal((await eventually(metadataIn, (all) => all.filter(Boolean).length === count)).length, count);
  /**
   * Advances the clock by the given time, days later, so that the fetch date is written again. Resolves with the number
   * of requests to the provider.
   */
  const passes = async (milliseconds: number): Promise<number> => {
    const { asked } = provider;
    clock.step(2 * 86_400_000);
    clock.pass(milliseconds);
    const isSeen = (): boolean =>
      Array.from(server.store.objects(kinds)).some(({ doc }) => doc["fetched_at"] === formatTimestamp(clock.now()));
    assert.ok(await eventually(isSeen, Boolean));
    return provider.asked - asked;
  };

  it("keeper of metadata with an address looks immediately for new routes and, after a start, for earlier askers until they are removed", async () => {
    const { store, accountId } = server;
    await store.write(systemWrite(accountId, "test", clock), (draft) => {
      draft.create(accountId, samlMetadata.name, {
        ...emptyDoc(samlMetadata.fields),
        asked_by: "app.example.com-abcdefgh",
        asked_at: formatTimestamp(clock.now()),
        url: provider.url,
        problem: "it answers 503",
      });
    });
    const keeper = keeperOf(store);
    await found(1);
    await store.write(systemWrite(accountId, "test", clock), (draft) => {
      const edge_id = draft.create(accountId, "https_edge", { ...emptyDoc(httpsEdge.fields), hostports: [] }).id;
      draft.create(accountId, "https_edge_route", {
        ...emptyDoc(httpsEdgeRoute.fields),
        edge_id,
        match_type: "path_prefix",
        match: "/",
        saml: { idp_metadata_url: provider.url },
      });
    });
    await found(2);
    assert.equal(provider.asked, 2);
    // Another node has deleted it.
    await store.write(systemWrite(accountId, "test", clock), (draft) => {
      const [row] = draft
        .page(accountId, samlMetadata.name, { limit: 10 })
        .objects.filter(({ doc }) => doc["asked_at"]);
      assert.ok(row);
      draft.delete(row);
    });
    for (let times = 0; times < 3; times += 1) assert.equal(await passes(3_600_000), 1, "the route's alone");
    assert.equal(metadataIn().length, 1);
    await keeper.stop();
  });

  it("keeper of metadata with an address leaves looks to the node that holds the job, and uses its results", async () => {
    let isHeld = false;
    let changed = (): void => {};
    const want = (_name: string, told: () => void) => {
      changed = told;
      return { isHeld: () => isHeld, end: () => {} };
    };
    const keeper = keeperOf(storeBut(server.store, { jobs: { want } }));
    const { asked } = provider;
    clock.pass(2 * 3_600_000);
    await new Promise(setImmediate);
    assert.equal(provider.asked, asked);
    const { store, accountId } = server;
    await store.write(systemWrite(accountId, "test", clock), (draft) => {
      const [row] = draft.page(accountId, samlMetadata.name, { limit: 1 }).objects;
      assert.ok(row);
      draft.replace(row, { ...row.doc, fetched_at: formatTimestamp(clock.now()) });
    });
    isHeld = true;
    changed();
    clock.pass(5_000);
    await new Promise(setImmediate);
    assert.equal(provider.asked, asked, "the other node has seen it just now");
    assert.equal(await passes(3_595_000), 1);
    await keeper.stop();
  });
});
