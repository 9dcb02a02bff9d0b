/** Agents' names outside of the server's domain, if domains must be verified. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";

describe("agents where names have to be proven", () => {
  let platform: TestPlatform;
  before(async () => (platform = await startPlatform({ requireDomainProof: "operator" })));
  after(() => platform.stop());

  it("R5: agents with verified domains publish below the server's domain, and elsewhere only at names that their account has reserved", async () => {
    const agent = await platform.startAgent({ upstream: 1, url: "https://free.localhost" });
    assert.equal(agent.url, `https://free.localhost:${platform.httpsPort}`);
    const url = "https://shop.example.com";
    const refused = await platform.startAgent({ upstream: 1, url, offline: true });
    const end = await refused.ended;
    assert.equal(end.reason, "name_taken");
    assert.match(end.message, /reserve and prove its domain/);
    const [account] = (await platform.api("GET", "/accounts")).body.accounts;
    await platform.api("PATCH", `/accounts/${account.id}`, { domains: ["example.com"] });
    const made = await fetch(`${platform.apiUrl}/reserved_domains`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${platform.apiKey}`,
        "service-version": "2",
        "content-type": "application/json",
        // Answered once the edge knows of it.
        prefer: "wait=10",
      },
      body: JSON.stringify({ domain: "shop.example.com" }),
    });
    assert.equal(made.status, 201, await made.text());
    const taken = await platform.startAgent({ upstream: 1, url });
    assert.equal(taken.url, `${url}:${platform.httpsPort}`);
  });
});
