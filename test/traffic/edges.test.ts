/** Several edges beside one control plane: an agent at one, visitors at any. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

describe("two edges", () => {
  let platform: TestPlatform;
  let service: HttpService;

  before(async () => {
    platform = await startPlatform({ edges: 2 });
    service = await startHttpService((_request, response) => response.end("served"));
  });
  after(async () => {
    await platform.stop();
    await service.stop();
  });

  for (const http of ["h1", "h2"] as const) {
    it(`two edges both serve the agent that one of them has, over ${http}`, async () => {
      const agent = await platform.startAgent({ upstream: service.port });
      for (let visit = 0; visit < 40; visit += 1) {
        const answer = await platform.request(agent.url, { http });
        assert.equal(`${answer.status} ${answer.text}`, "200 served");
      }
      await agent.close();
    });
  }
});
