import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, appendFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { verifyWebhook } from "../../src/webhooks/webhook-verification.ts";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { eventually } from "../support/eventually.ts";
import { databases } from "../support/postgres.ts";
import { skipWithoutPostgres } from "../support/programs.ts";
import { startReceiver, subscribe } from "../support/receiver.ts";
import type { Receiver } from "../support/receiver.ts";

for (const database of databases) {
  describe(`events on ${database.name}`, () => {
    let receiver: Receiver;
    let directory: string;
    let api: TestApi;
    before(async () => {
      receiver = await startReceiver();
      directory = mkdtempSync(join(tmpdir(), "postern-events-"));
      api = await startApi(database, {
        data: directory,
        allowLocalUpstreams: true,
        eventsCa: receiver.ca,
      });
    });
    after(async () => {
      await api.stop();
      await receiver.stop();
      rmSync(directory, { recursive: true });
    });

    it(`events on ${database.name} are posted for every subscribed write, signed, with the state before and after`, async () => {
      const types = ["bot_user_created.v0", "bot_user_updated.v0", "bot_user_deleted.v0"];
      const { destination } = await subscribe(api, { webhook: { url: receiver.url } }, types);
      const bot = await api.ok("POST", "/bot_users", { name: "watched" });
      await api.ok("POST", "/ip_policies", {});
      const changed = await api.ok("PATCH", `/bot_users/${bot.id}`, { active: false });
      await api.ok("DELETE", `/bot_users/${bot.id}`);
      await receiver.count(3);
      const events = receiver.received.map(({ event }) => event);
      assert.deepEqual(
        events.map(({ event_type, before, after, object }) => ({ event_type, before, after, object })),
        [
          { event_type: types[0], before: null, after: bot, object: bot },
          { event_type: types[1], before: bot, after: changed, object: changed },
          { event_type: types[2], before: changed, after: null, object: changed },
        ],
      );
      assert.match(events[0].event_id, /^ev_[0-9a-z]{27}$/);
      assert.match(events[0].principal.id, /^ak_/);
      assert.deepEqual(
        events.map(({ operation }) => operation.name),
        ["createBotUser", "updateBotUser", "deleteBotUser"],
      );
      const secret = destination.target.webhook.secret as string;
      assert.match(secret, /^whsec_/);
      for (const { headers, text } of receiver.received) {
        const message = {
          method: "POST",
          url: receiver.url,
          headers: {
            getAll: (name: string) => [headers[name.toLowerCase()]].flat().filter((one) => one !== undefined),
          },
          body: Buffer.from(text),
        };
        assert.equal((await verifyWebhook("svix", secret, message as never, Date.now())).wrong, undefined);
        const other = await verifyWebhook("svix", "whsec_b3RoZXI=", message as never, Date.now());
        assert.notEqual(other.wrong, undefined);
      }
      let { delivery } = destination;
      const read = (): Promise<Body> => api.ok("GET", `/event_destinations/${destination.id}`);
      ({ delivery } = await eventually(read, (now) => now.delivery.delivered >= 3));
      assert.deepEqual([delivery.delivered, delivery.dropped, delivery.error], [3, 0, ""]);
    });

    it(`events on ${database.name} are sent again after a failure, in their order and under the same id, and redirects lead nowhere`, async () => {
      const from = receiver.received.length;
      receiver.answers.push(500, 302);
      await subscribe(api, { webhook: { url: receiver.url } }, ["ip_policy_created.v0"]);
      await api.ok("POST", "/ip_policies", { description: "first" });
      await api.ok("POST", "/ip_policies", { description: "second" });
      await receiver.count(from + 4);
      const events = receiver.received.slice(from).map(({ event }) => event);
      assert.deepEqual(
        events.map(({ object }) => object.description),
        ["first", "first", "first", "second"],
      );
      assert.equal(new Set(events.map(({ event_id }) => event_id)).size, 2);
    });

    it(`K5: events on ${database.name} that were delivered are shown to keys that may read the kind they are about`, async () => {
      const { destination, subscription } = await subscribe(api, { webhook: { url: receiver.url } }, [
        "ip_policy_created.v0",
        "vault_created.v0",
      ]);
      await api.ok("POST", "/ip_policies", { description: "shown" });
      await api.ok("POST", "/vaults", { name: "not shown" });
      const path = `/event_destinations/${destination.id}/events`;
      const all = await eventually(
        () => api.ok("GET", path),
        ({ events }) => events.length === 2,
      );
      const typesFor = async (...scopes: string[]): Promise<string[]> => {
        const { token } = await api.ok("POST", "/api_keys", { scopes });
        const { body } = await api.request("GET", path, { key: token });
        return body.events.map(({ type }: Body) => type);
      };
      assert.deepEqual(all.events.map(({ type }: Body) => type).toSorted(), [
        "ip_policy_created.v0",
        "vault_created.v0",
      ]);
      assert.deepEqual(await typesFor("type:event_destination"), []);
      assert.deepEqual(await typesFor("type:event_destination", "type:ip_policy"), ["ip_policy_created.v0"]);
      assert.equal((await typesFor("read")).length, 2);
      await api.ok("DELETE", `/event_subscriptions/${subscription.id}`);
    });

    it(`I6: events on ${database.name} refuse a secret that stands for a short or empty key`, async () => {
      for (const secret of ["short", "whsec_!!!!!!!!!!!!!!!!!!", "whsec_AAAAAAAAAAAAAAA", "whsec_"]) {
        const body = { target: { webhook: { url: receiver.url, secret } } };
        const { status, body: answer } = await api.request("POST", "/event_destinations", { body });
        assert.equal(status, 400, secret);
        assert.ok(answer.details["target.webhook.secret"], JSON.stringify(answer));
      }
    });

    it(`K4: events on ${database.name} mask secrets`, async () => {
      const from = receiver.received.length;
      await subscribe(api, { webhook: { url: receiver.url } }, ["event_destination_created.v0", "secret_created.v0"]);
      const vault = await api.ok("POST", "/vaults", { name: "v" });
      await api.ok("POST", "/vault_secrets", { name: "s", vault_id: vault.id, value: "not to be told" });
      await api.ok("POST", "/event_destinations", { target: { datadog: { api_key: "not to be told either" } } });
      await receiver.count(from + 2);
      for (const { text } of receiver.received.slice(from)) assert.doesNotMatch(text, /not to be told/);
      assert.equal(receiver.received.at(-1)?.event.object.target.datadog.api_key, "***");
    });

    it(`P1: events on ${database.name} of one account never reach another`, async () => {
      const from = receiver.received.length;
      const { api_key } = await api.ok("POST", "/accounts", { name: "another" });
      await subscribe(api, { webhook: { url: receiver.url } }, ["bot_user_created.v0"], api_key);
      await api.ok("POST", "/bot_users", { name: "mine" });
      await api.ok("POST", "/bot_users", { name: "theirs" }, api_key);
      const own = (event: Body): boolean => event.object.name === "theirs";
      while (!receiver.received.slice(from).some(({ event }) => own(event))) {
        await receiver.count(receiver.received.length + 1);
      }
      const account = receiver.received.find(({ event }) => own(event))?.event.account_id;
      const told = receiver.received.slice(from).filter(({ event }) => event.account_id === account);
      assert.deepEqual(
        told.map(({ event }) => event.object.name),
        ["theirs"],
      );
    });

    it(`events on ${database.name} are written into files of the data directory, for operators only, after an unfinished line as well`, async () => {
      const { destination } = await subscribe(api, { file: { name: "audit.jsonl" } }, ["reserved_addr_created.v0"]);
      const accountId = (await api.ok("GET", "/accounts")).accounts.at(-1).id;
      const path = join(directory, "events", accountId, "audit.jsonl");
      const lines = async (count: number): Promise<string[]> => {
        const read = (): Promise<Body> => api.ok("GET", `/event_destinations/${destination.id}`);
        await eventually(read, ({ delivery }) => delivery.delivered >= count);
        return readFileSync(path, "utf8").trimEnd().split("\n");
      };
      const first = await api.ok("POST", "/reserved_addrs", {});
      assert.equal((JSON.parse((await lines(1))[0] as string) as Body).object.id, first.id);
      appendFileSync(path, '{"cut off');
      const second = await api.ok("POST", "/reserved_addrs", {});
      assert.equal((JSON.parse((await lines(2))[2] as string) as Body).object.id, second.id);
      const key = (await api.ok("POST", "/accounts", { name: "tenant" })).api_key;
      const body = { target: { file: { name: "theirs.jsonl" } } };
      assert.equal((await api.request("POST", "/event_destinations", { body, key })).status, 403);
      for (const name of ["../x", "a/b", ".hidden", ""]) {
        const wrong = { target: { file: { name } } };
        assert.equal((await api.request("POST", "/event_destinations", { body: wrong })).status, 400, name);
      }
    });

    it(`events on ${database.name} can be sent only to supported destinations, and others are refused`, async () => {
      const auth = { role: { role_arn: "arn:aws:iam::123456789012:role/events" } };
      const cloud = await api.ok("POST", "/event_destinations", {
        target: { kinesis: { auth, stream_arn: "arn:aws:kinesis:eu-west-1:123456789012:stream/events" } },
      });
      assert.deepEqual(cloud.target.kinesis.auth.creds, null);
      assert.equal(cloud.delivery.state, "unsupported");
      assert.match(cloud.delivery.error, /no AWS key to assume a role: set `auth.creds`/);
      const type = "ip_policy_created.v0";
      const body = { sources: [{ type }], destination_ids: [cloud.id] };
      const refused = await api.request("POST", "/event_subscriptions", { body });
      assert.equal(refused.status, 400);
      assert.match(refused.body.details["destination_ids[0]"], /cannot deliver to kinesis: .* set `auth.creds`/);
      const { destination } = await subscribe(api, { webhook: { url: receiver.url } }, ["vault_created.v0"]);
      const turned = await api.request("PATCH", `/event_destinations/${destination.id}`, {
        body: { target: cloud.target },
      });
      assert.equal(turned.status, 400);
      const none = await api.request("POST", "/event_destinations", { body: { target: {} } });
      assert.match(none.body.details.target, /exactly one/);
      const wrong = { sources: [{ type: "nothing_created.v0" }], destination_ids: [destination.id] };
      const response = await api.request("POST", "/event_subscriptions", { body: wrong });
      assert.deepEqual([response.status, "sources[0].type" in response.body.details], [400, true]);
    });

    it(`events on ${database.name} have sources with their own paths`, async () => {
      const { subscription } = await subscribe(api, { webhook: { url: receiver.url } }, ["vault_created.v0"]);
      const path = `/event_subscriptions/${subscription.id}/sources`;
      assert.deepEqual(subscription.sources, [
        { type: "vault_created.v0", uri: `${api.baseUrl}${path}/vault_created.v0` },
      ]);
      const types = ["vault_updated.v0", "vault_deleted.v0", "secret_created.v0", "secret_deleted.v0"];
      await Promise.all(types.map((type) => api.ok("POST", path, { subscription_id: subscription.id, type })));
      const { sources } = await api.ok("GET", path);
      assert.deepEqual(sources.map(({ type }: Body) => type).sort(), ["vault_created.v0", ...types].sort());
      const again = await api.request("POST", path, { body: { type: types[0] } });
      assert.equal(again.status, 409);
      assert.equal((await api.ok("GET", `${path}/${types[0]}`)).type, types[0]);
      assert.equal((await api.ok("PATCH", `${path}/${types[0]}`, {})).type, types[0]);
      assert.equal((await api.request("DELETE", `${path}/${types[0]}`)).status, 204);
      assert.equal((await api.request("GET", `${path}/${types[0]}`)).status, 404);
      assert.equal((await api.request("DELETE", `${path}/${types[0]}`)).status, 404);
      const key = (await api.ok("POST", "/accounts", { name: "a third" })).api_key;
      assert.equal((await api.request("GET", path, { key })).status, 404);
      assert.equal((await api.request("POST", path, { key, body: { type: types[0] } })).status, 404);
    });

    it(`P7: events on ${database.name} have sources that are added once per Idempotency-Key, and guarded by the subscription's ETag`, async () => {
      const { subscription } = await subscribe(api, { webhook: { url: receiver.url } }, ["vault_created.v0"]);
      const path = `/event_subscriptions/${subscription.id}/sources`;
      const headers = { "idempotency-key": "source-1" };
      const add = (type: string) => api.request("POST", path, { body: { type }, headers });
      const first = await add("vault_updated.v0");
      assert.equal(first.status, 201);
      const repeated = await add("vault_updated.v0");
      assert.deepEqual([repeated.status, repeated.text], [201, first.text]);
      assert.equal(repeated.headers["postern-revision"], first.headers["postern-revision"]);
      const other = await add("vault_deleted.v0");
      assert.deepEqual([other.status, other.body.error_code], [422, errorCode("idempotency_reused")]);
      const one = `${path}/vault_updated.v0`;
      const { etag } = (await api.request("GET", one)).headers;
      assert.equal(etag, first.headers["etag"]);
      assert.equal((await api.request("PATCH", one, { body: {} })).headers["etag"], etag);
      await api.ok("PATCH", `/event_subscriptions/${subscription.id}`, { description: "changed" });
      const stale = await api.request("DELETE", one, { headers: { "if-match": etag } });
      assert.deepEqual([stale.status, stale.body.error_code], [412, errorCode("precondition_failed")]);
      const fresh = (await api.request("GET", one)).headers["etag"];
      assert.equal((await api.request("DELETE", one, { headers: { "if-match": fresh } })).status, 204);
    });

    it(`events on ${database.name} that no receiver could accept are delivered after a restart, once`, async () => {
      const place = await database.create();
      const shared = {
        databaseUrl: place.url,
        data: directory,
        allowLocalUpstreams: true,
        eventsCa: receiver.ca,
      };
      const from = receiver.received.length;
      const first = await startApi(database, shared);
      const { destination } = await subscribe(first, { webhook: { url: receiver.url } }, ["bot_user_created.v0"]);
      await first.ok("POST", "/bot_users", { name: "told" });
      await receiver.count(from + 1);
      await first.ok("PATCH", `/event_destinations/${destination.id}`, {
        target: { webhook: { url: "https://127.0.0.1:1/" } },
      });
      await first.ok("POST", "/bot_users", { name: "later" });
      await first.stop();
      const second = await startApi(database, { ...shared, bootstrap: { apiKey: first.apiKey } });
      const kept = await second.ok("PATCH", `/event_destinations/${destination.id}`, {
        target: { webhook: { url: receiver.url } },
      });
      assert.equal(kept.target.webhook.secret, destination.target.webhook.secret);
      await receiver.count(from + 2);
      await second.ok("POST", "/bot_users", { name: "last" });
      await receiver.count(from + 3);
      const names = receiver.received.slice(from).map(({ event }) => event.object.name);
      assert.deepEqual(names, ["told", "later", "last"]);
      await second.stop();
      await place.drop();
    });
  });
}

describe("where events may go", () => {
  it("I7: event destinations must use HTTPS and public addresses, unless the operator allows others", async () => {
    const api = await startApi(databases[0] as (typeof databases)[number]);
    try {
      const plain = { target: { webhook: { url: "http://collector.example.com/" } } };
      const refused = await api.request("POST", "/event_destinations", { body: plain });
      assert.equal(refused.status, 400);
      assert.match(refused.body.details["target.webhook.url"], /https/);
      const receiver = await startReceiver();
      const { destination } = await subscribe(api, { webhook: { url: receiver.url } }, ["bot_user_created.v0"]);
      await api.ok("POST", "/bot_users", { name: "x" });
      const read = (): Promise<Body> => api.ok("GET", `/event_destinations/${destination.id}`);
      const { delivery } = await eventually(read, (now) => now.delivery.error !== "");
      assert.deepEqual([delivery.state, delivery.delivered], ["retrying", 0]);
      assert.match(delivery.error, /not public/);
      assert.equal(receiver.received.length, 0);
      await receiver.stop();
    } finally {
      await api.stop();
    }
  });
});

describe("events of servers that share a database", { skip: skipWithoutPostgres }, () => {
  it("the delivery of events by servers that share a database is the same at each of them", async () => {
    const postgres = databases[1] as (typeof databases)[number];
    const database = await postgres.create();
    const data = mkdtempSync(join(tmpdir(), "postern-events-"));
    const options = { databaseUrl: database.url, cluster: true, data } as const;
    const one = await startApi(postgres, options);
    const other = await startApi(postgres, { ...options, bootstrap: { apiKey: one.apiKey } });
    try {
      const target = { file: { name: "shared.jsonl" } };
      const { destination } = await subscribe(one, target, ["bot_user_created.v0"]);
      await other.ok("POST", "/bot_users", { name: "told of" });
      const shown = (api: TestApi) => async (): Promise<readonly unknown[]> => {
        const { events } = await api.ok("GET", `/event_destinations/${destination.id}/events`);
        const { delivery } = await api.ok("GET", `/event_destinations/${destination.id}`);
        return [events.map((event: Body) => JSON.parse(event.body).object.name), delivery.delivered, delivery.state];
      };
      const expected = [["told of"], 1, "idle"];
      const isShown = (answer: unknown): boolean => JSON.stringify(answer) === JSON.stringify(expected);
      assert.deepEqual(await eventually(shown(one), isShown), expected);
      assert.deepEqual(await eventually(shown(other), isShown), expected);
    } finally {
      await Promise.all([one.stop(), other.stop()]);
      await database.drop();
      rmSync(data, { recursive: true });
    }
  });
});
