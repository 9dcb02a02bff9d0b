import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CaptureSetting } from "../../../capture/rule.ts";
import type { CompiledRoute } from "../../../routing/sites/compiled-site.ts";
import { makeCaptureRules } from "./capture-rules.ts";

const place = { routeId: "route_1", siteId: "edge_1", accountId: "ac_1", route: undefined };

/** Rules over objects with these settings. `set` changes one of them. */
function rulesOf(isDefault: boolean) {
  const settings = new Map<string, Partial<CaptureSetting> | null>();
  let changed: (change: { kinds: ReadonlySet<string> }) => void = () => {};
  const table = {
    object: (kind: string, id: string) =>
      settings.has(`${kind} ${id}`) ? { doc: { capture: settings.get(`${kind} ${id}`) } } : undefined,
    subscribe: (told: typeof changed) => void (changed = told),
  } as unknown as Parameters<typeof makeCaptureRules>[0];
  const ruleFor = makeCaptureRules(table, isDefault);
  return {
    ruleFor,
    set(kind: string, id: string, setting: Partial<CaptureSetting> | null) {
      settings.set(`${kind} ${id}`, setting);
      changed({ kinds: new Set([kind]) });
    },
  };
}

describe("the rules of capture", () => {
  it("the rules of capture take the nearest setting: route, then edge, then account, then the server", () => {
    for (const isDefault of [false, true]) {
      const { ruleFor, set } = rulesOf(isDefault);
      assert.equal(ruleFor(place)?.hours, isDefault ? 24 : undefined);
      set("account", "ac_1", { hours: 3 });
      assert.equal(ruleFor(place)?.hours, 3);
      set("https_edge", "edge_1", { hours: 2 });
      assert.equal(ruleFor(place)?.hours, 2);
      set("https_edge_route", "route_1", { hours: 1 });
      assert.equal(ruleFor(place)?.hours, 1);
      set("https_edge_route", "route_1", { enabled: false });
      assert.equal(ruleFor(place), undefined);
      set("https_edge_route", "route_1", null);
      assert.equal(ruleFor(place)?.hours, 2);
      set("https_edge", "edge_1", { sample: 0 });
      assert.equal(ruleFor(place), undefined);
    }
  });

  it("the rules of capture take the setting of the tunnel that serves a URL now, before the account's", () => {
    const { ruleFor, set } = rulesOf(false);
    const served = (capture: Partial<CaptureSetting> | undefined) => ({
      ...place,
      route: { capture } as unknown as CompiledRoute,
    });
    set("account", "ac_1", { hours: 3 });
    assert.equal(ruleFor(served(undefined))?.hours, 3);
    assert.equal(ruleFor(served({ hours: 1, redact_headers: ["x-key"] }))?.hours, 1);
    assert.equal(ruleFor(served({ enabled: false })), undefined);
    assert.equal(ruleFor(served(undefined))?.hours, 3);
  });
});
