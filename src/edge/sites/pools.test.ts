import assert from "node:assert/strict";
import { it } from "node:test";
import type { Site } from "../../routing/sites/compiled-site.ts";
import type { Tunnel } from "../agents/tunnels/tunnel.ts";
import { makePools } from "./pools.ts";

/** A tunnel of the agent, as in a register. */
function tunnelOf(id: string, agent: string): Tunnel & { readonly endpoint: { readonly site: Site } } {
  const site = { kind: "endpoint", id, hosts: ["shop.example"], pooled: true, handshake: {} } as unknown as Site;
  const company = { key: "https", isPool: true, likeness: undefined, agent };
  return { id, isElsewhere: false, company, endpoint: { site } } as unknown as Tunnel & {
    readonly endpoint: { readonly site: Site };
  };
}

it("a pool includes an agent with several sessions once", () => {
  const [first, again, other] = [tunnelOf("ep_1", "one"), tunnelOf("ep_2", "one"), tunnelOf("ep_3", "other")];
  let tunnels: readonly Tunnel[] = [first, again, other];
  const pools = makePools({ pool: () => [] }, { pool: () => tunnels }, Math.random);
  assert.deepEqual(pools.https(again.endpoint.site)?.members, [first.endpoint.site, other.endpoint.site]);
  tunnels = [first, again];
  assert.equal(pools.https(again.endpoint.site), first.endpoint.site);
});
