/** Servers on one database as a visitor finds them: what an agent publishes at one is served by all. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { protocols } from "../support/http-client.ts";
import { startNode } from "../support/nodes.ts";
import type { ServerNode } from "../support/nodes.ts";
import { databases } from "../support/postgres.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

const postgres = databases.find(({ name }) => name === "postgres");

describe("servers on one database", { skip: !postgres }, () => {
  let place: Awaited<ReturnType<NonNullable<typeof postgres>["create"]>>;
  let one: ServerNode;
  let other: ServerNode;
  let service: HttpService;

  before(async () => {
    place = await (postgres as NonNullable<typeof postgres>).create();
    [one, other] = await Promise.all([startNode(place.url), startNode(place.url)]);
    service = await startHttpService((request, response) => response.end(`seen by ${request.headers.host}`));
  });
  after(async () => {
    await Promise.all([one.end(), other.end()]);
    await service.stop();
    await place.drop();
  });

  for (const http of protocols) {
    it(`servers on one database: a visitor of one reaches an agent of another over ${http}`, async () => {
      const agent = await one.agent({ upstream: service.port, url: `https://across-${http}.example.com` });
      await agent.online();
      const host = `across-${http}.example.com`;
      const answer = await other.ask(http, { host });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.text, `seen by ${host}`);
      await agent.close();
    });
  }
});
