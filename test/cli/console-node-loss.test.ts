/** The console behind a balancer, when the node that serves it is lost. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { startBalancer } from "../support/balancer.ts";
import { startChromium } from "../support/chromium.ts";
import { eventually } from "../support/eventually.ts";
import { startServer } from "../support/nodes.ts";
import type { ServerNode } from "../support/nodes.ts";
import { openWatched } from "../support/pages.ts";
import { databases } from "../support/postgres.ts";
import { skipWithout, skipWithoutPostgres } from "../support/programs.ts";

const postgres = databases.find(({ name }) => name === "postgres");
const apiKey = "chosen-api-key-of-all-nodes-0123456789";

describe(
  "the console of several nodes",
  { skip: skipWithoutPostgres || skipWithout("haproxy") || skipWithout("chromium"), timeout: 240_000 },
  () => {
    if (!postgres) return;

    it("the console of several nodes says that its node is lost, continues at another one with the same login, and keeps a form that is being filled in", async (test) => {
      const data = mkdtempSync(join(tmpdir(), "postern-nodes-"));
      const [place, chromium] = await Promise.all([postgres.create(), startChromium()]);
      const hosts = ["127.0.0.2", "127.0.0.3"];
      const balancer = await startBalancer(hosts);
      const start = (host: string): Promise<ServerNode> => {
        const env = {
          ...balancer.env(host),
          POSTERN_DATABASE: place.url,
          POSTERN_BOOTSTRAP_API_KEY: apiKey,
        };
        return startServer(["--cluster", "--data", data], apiKey, env);
      };
      const nodes = [await start("127.0.0.2")];
      test.after(async () => {
        await chromium.close();
        for (const node of nodes) await node.end("SIGKILL");
        await place.drop();
        rmSync(data, { recursive: true });
      });
      const [first] = nodes as [ServerNode];
      const origin = `http://127.0.0.1:${balancer.ports.api}`;
      const ready = async (): Promise<boolean> =>
        await fetch(`${origin}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        );
      await eventually(ready, Boolean);
      const { page, assertQuiet } = await openWatched(chromium, origin);
      const link = new URL(String((await first.call("POST", "/console_links")).body["url"]));
      await page.goto(`${origin}/${link.hash}`);
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      await page.goto(`${origin}/#/publish`);
      const host = page.getByLabel("Public name and port");
      await host.fill("shop.example.com:443");
      await page.getByLabel("Who has access").fill("198.51.100.0/24");
      await page.getByRole("button", { name: "Apply" }).and(page.locator(":enabled")).waitFor();
      const second = await start("127.0.0.3");
      nodes.push(second);
      await second.until("/nodes", ({ body }) => (body["nodes"] as readonly unknown[]).length === 2);

      const lost = page.getByText("No connection to the server");
      const seen = lost.waitFor();
      await first.end("SIGKILL");
      await seen;
      await lost.waitFor({ state: "detached" });
      assert.equal(await host.inputValue(), "shop.example.com:443");
      assert.equal(await page.getByLabel("Who has access").inputValue(), "198.51.100.0/24");
      await page.getByRole("button", { name: "Apply" }).click();
      await page.getByText("Start the agent").or(page.getByText("npx postern http")).first().waitFor();
      const edges = (await second.call("GET", "/edges/https")).body["https_edges"] as readonly object[];
      assert.equal(edges.length, 1);
      assertQuiet();
    });
  },
);
