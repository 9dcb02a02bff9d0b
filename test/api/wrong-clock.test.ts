/** The server's clock is wrong for an hour and then right again: nothing ends before its time (S7). */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { describe, it } from "node:test";
import { startApi } from "../support/api.ts";
import type { ApiResponse, TestApi } from "../support/api.ts";
import { makeManualClock } from "../support/clock.ts";
import type { ManualClock } from "../support/clock.ts";
import { eventually } from "../support/eventually.ts";
import { databases } from "../support/postgres.ts";
import { startReceiver, subscribe } from "../support/receiver.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const wrong = [
  ["an hour ahead", hourMs],
  ["an hour behind", -hourMs],
  ["a month ahead", 30 * 24 * hourMs],
  ["a month behind", -30 * 24 * hourMs],
] as const;

async function pass(clock: ManualClock, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    clock.pass(minuteMs);
    await delay(1);
  }
}

async function withApi(
  database: (typeof databases)[number],
  options: Parameters<typeof startApi>[1],
  use: (api: TestApi) => Promise<void>,
): Promise<void> {
  const api = await startApi(database, options);
  try {
    await use(api);
  } finally {
    await api.stop();
  }
}

for (const database of databases) {
  for (const [name, wrongMs] of wrong) {
    it(`S7: sessions at the console are good after a clock that was ${name} for an hour, and the next one ends none of them, on ${database.name}`, async () => {
      const clock = makeManualClock();
      await withApi(database, { clock }, async (api) => {
        const from = { authorization: undefined, origin: api.baseUrl };
        const open = async (): Promise<string> => {
          const body = { api_key: api.apiKey };
          const { status, headers, text } = await api.request("POST", "/console/session", { headers: from, body });
          assert.equal(status, 200, text);
          return String(headers["set-cookie"]).split(";", 1)[0] ?? "";
        };
        const read = (cookie: string): Promise<ApiResponse> =>
          api.request("GET", "/console/session", { headers: { ...from, cookie } });
        const before = await open();
        clock.step(wrongMs);
        await pass(clock, 30);
        await open();
        await pass(clock, 30);
        clock.step(-wrongMs);
        assert.equal((await read(before)).status, 200);
      });
    });
  }
}

describe("events under a wrong clock", { timeout: 120_000 }, () => {
  for (const database of databases) {
    for (const [name, wrongMs] of wrong) {
      it(`S7: an event is tried again and arrives though the clock was ${name} for an hour, on ${database.name}`, async () => {
        const receiver = await startReceiver("http");
        const clock = makeManualClock();
        try {
          await withApi(database, { clock, allowLocalUpstreams: true }, async (api) => {
            await subscribe(api, { webhook: { url: receiver.url } }, ["bot_user_created.v0"]);
            for (let answer = 0; answer < 5; answer += 1) receiver.answers.push(503);
            await api.ok("POST", "/bot_users", { name: "before" });
            await receiver.count(1);
            clock.step(wrongMs);
            await api.ok("POST", "/bot_users", { name: "during" });
            await pass(clock, 60);
            clock.step(-wrongMs);
            const names = (): string[] =>
              receiver.received.slice(5).map(({ event }) => String(event.object?.name ?? event.after?.name));
            await eventually(
              async () => {
                await pass(clock, 5);
                return new Set(names());
              },
              (found) => found.has("before") && found.has("during"),
            );
          });
        } finally {
          await receiver.stop();
        }
      });
    }
  }
});
