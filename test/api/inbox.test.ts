/** The control plane's side of inboxes, with an edge that the test drives: limits, events, and a lost database. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { packWebhooks } from "../../src/edge/http/inbox-line.ts";
import { newId } from "../../src/lib/ids.ts";
import type { InboxOutcome } from "../../src/traffic/stored-request.ts";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { movableClock } from "../support/clock.ts";
import { eventually } from "../support/eventually.ts";
import { databases } from "../support/postgres.ts";
import { startReceiver, subscribe } from "../support/receiver.ts";
import { execute } from "../storage/sql.ts";

const megabyte = 1_048_576;

interface Account {
  readonly accountId: string;
  readonly routeId: string;
}

/** Creates a route with an inbox in the account of the key. */
async function accountWith(
  api: TestApi,
  inbox: Body,
  other?: { readonly id: string; readonly api_key: string },
): Promise<Account> {
  const key = other?.api_key;
  const host = `${newId("h", Date.now()).slice(-12)}.example.com`;
  const edge = await api.ok("POST", "/edges/https", { hostports: [`${host}:443`] }, key);
  const route = await api.ok(
    "POST",
    `/edges/https/${edge.id}/routes`,
    { match_type: "path_prefix", match: "/", inbox: { enabled: true, ...inbox } },
    key,
  );
  const accountId = other?.id ?? (await api.ok("GET", "/accounts")).accounts.at(-1).id;
  return { accountId, routeId: route.id };
}

let calls = 0;

/** Sends a webhook as an edge does. Resolves with the control plane's answer. */
async function put(api: TestApi, { accountId, routeId }: Account, body: Buffer): Promise<InboxOutcome> {
  const call = (calls += 1);
  const id = newId("inbox", Date.now());
  const request = {
    method: "POST",
    target: "/",
    scheme: "https",
    host: "hooks.example.com",
    headers: [],
    source: "192.0.2.1",
    sourcePort: 1,
    localPort: 443,
    receivedAt: Date.now(),
  } as const;
  const facts = { requestId: "req_1", path: "/", provider: "", eventType: "", key: "", keyMs: 1 };
  const message = { id, accountId, routeId, ...facts, request };
  api.edge.send({ type: "inbox_messages", call, ...packWebhooks([{ message, body }]) });
  const answers = () => api.edge.received.find((one) => one.type === "inbox_stored" && one.call === call);
  const answer = await eventually(answers, (found) => found !== undefined);
  assert.ok(answer?.type === "inbox_stored");
  return answer.outcomes[0] as InboxOutcome;
}

/** Answers every delivery with the service's status, or as an edge without an agent. */
function serve(api: TestApi, status: number | undefined): void {
  api.edge.answer = (message) => {
    if (message.type !== "inbox_delivery") return undefined;
    const result = status === undefined ? ({ error: "no agent", isAway: true } as const) : { status };
    return { type: "inbox_result", call: message.call, result: { ...result, durationMs: 1 } };
  };
}

for (const database of databases) {
  describe(`inboxes of the API on ${database.name}`, { timeout: 120_000 }, () => {
    it("S9: an inbox stores as many messages and bytes of an account as the limits allow, and other accounts keep theirs", async () => {
      const api = await startApi(database, { inboxMaxMessages: 3, inboxMaxBytes: 1 });
      try {
        serve(api, undefined);
        api.edge.send({ type: "hello", edgeId: "edge_1" });
        const one = await accountWith(api, {});
        const other = await accountWith(api, {}, await api.ok("POST", "/accounts", { name: "another" }));
        const outcomes: InboxOutcome[] = [];
        for (let at = 0; at < 4; at += 1) outcomes.push(await put(api, one, Buffer.from(String(at))));
        assert.deepEqual(outcomes, ["stored", "stored", "stored", "full"]);
        assert.equal(await put(api, other, Buffer.alloc(megabyte - 4096)), "stored");
        assert.equal(await put(api, other, Buffer.alloc(8192)), "full");
        assert.equal(await put(api, other, Buffer.alloc(16)), "stored");
        assert.equal((await api.ok("GET", `/inbox_messages?route_id=${one.routeId}`)).inbox_messages.length, 3);
      } finally {
        await api.stop();
      }
    });

    it("an inbox sends an event for a dead message, and one for each threshold that its backlog passes", async () => {
      const receiver = await startReceiver();
      const clock = movableClock();
      const api = await startApi(database, { allowLocalUpstreams: true, eventsCa: receiver.ca, clock });
      try {
        serve(api, 500);
        api.edge.send({ type: "hello", edgeId: "edge_1" });
        const types = ["inbox_message_dead.v0", "inbox_backlog.v0"];
        await subscribe(api, { webhook: { url: receiver.url } }, types);
        const one = await accountWith(api, { max_attempts: 1 });
        assert.equal(await put(api, one, Buffer.from("dying")), "stored");
        await receiver.count(1);
        const [dead] = receiver.received.map(({ event }) => event);
        assert.equal(dead.event_type, "inbox_message_dead.v0");
        const { route_id, attempts, status_code, error } = dead.object;
        assert.deepEqual([route_id, attempts, status_code, error], [one.routeId, 1, 500, null]);

        serve(api, undefined);
        for (let at = 0; at < 100; at += 1) assert.equal(await put(api, one, Buffer.from(String(at))), "stored");
        await eventually(
          () => {
            clock.move(2_000);
            return receiver.received.length;
          },
          (count) => count >= 2,
        );
        const backlog = receiver.received[1]?.event;
        assert.equal(backlog.event_type, "inbox_backlog.v0");
        assert.deepEqual([backlog.object.route_id, backlog.object.threshold], [one.routeId, 100]);
        assert.ok(backlog.object.waiting >= 100);
        assert.equal(receiver.received.length, 2);
      } finally {
        await api.stop();
        await receiver.stop();
      }
    });
  });
}

const postgres = databases.find(({ name }) => name === "postgres");

it(
  "S9: an inbox loses nothing that it acknowledged while its connections to the database break",
  { skip: postgres === undefined, timeout: 60_000 },
  async () => {
    const database = postgres as NonNullable<typeof postgres>;
    const api = await startApi(database);
    try {
      serve(api, undefined);
      api.edge.send({ type: "hello", edgeId: "edge_1" });
      const one = await accountWith(api, {});
      const cut = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'postern inbox'";
      const outcomes: InboxOutcome[] = [];
      for (let round = 0; round < 8; round += 1) {
        const sending = Array.from({ length: 8 }, (_, at) => put(api, one, Buffer.from(`${round} ${at}`)));
        await execute("postgres", api.databaseUrl, cut);
        outcomes.push(...(await Promise.all(sending)));
      }
      assert.equal(await put(api, one, Buffer.from("last")), "stored");
      const stored = outcomes.filter((outcome) => outcome === "stored").length + 1;
      const { inbox_messages: found } = await api.ok("GET", "/inbox_messages?limit=100");
      // A connection can break after its commit. The provider then repeats the webhook.
      assert.ok(found.length >= stored && found.length <= outcomes.length + 1, `${found.length}, ${stored} stored`);
      assert.ok(outcomes.every((outcome) => outcome === "stored" || outcome === "unavailable"));
    } finally {
      await api.stop();
    }
  },
);
