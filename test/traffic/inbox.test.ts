/** The inbox of a route: webhooks are stored, acknowledged, and delivered when the service is there. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { signSample } from "../../src/webhooks/webhook-verification.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { maxInboxBody } from "../../src/traffic/parts/inbox-fields.ts";
import { eventually } from "../support/eventually.ts";
import type { ApiBody } from "../support/platform.ts";
import { databases } from "../support/postgres.ts";
import { startInboxWorld } from "../support/inbox-world.ts";
import type { InboxWorld } from "../support/inbox-world.ts";

const secret = "a secret of the test";

for (const database of databases) {
  describe(`an inbox on ${database.name}`, { timeout: 120_000 }, () => {
    let world: InboxWorld;
    let place: Awaited<ReturnType<typeof database.create>>;
    before(async () => {
      place = await database.create();
      world = await startInboxWorld({ database: place.url });
    });
    after(async () => {
      await world.stop();
      await place.drop();
    });

    const post = (path: string, body: string, headers: Readonly<Record<string, string>> = {}) =>
      world.platform.request(`https://${world.host}${path}`, { method: "POST", headers, body });

    it("an inbox stores a webhook while no agent is connected, and delivers it unchanged once the agent is there", async () => {
      const { host } = world;
      const provider = "github";
      await world.route("/late", {
        webhook_verification: { enabled: true, provider, secret },
        inbox: { enabled: true },
      });
      const body = '{"zen":"Keep it logically awesome."}';
      const url = `https://${host}/late/hook?a=b`;
      const { headers } = signSample(provider, { secret, body: Buffer.from(body), url, now: Date.now() });
      const answer = await post("/late/hook?a=b", body, { ...headers, "x-github-event": "ping" });
      assert.equal(answer.status, 202);
      assert.equal(answer.text, "");
      assert.equal((await post("/late/hook", body, { "x-hub-signature-256": "sha256=00" })).status, 403);

      const agent = await world.startAgent();
      await world.arrived(1);
      const [got] = world.received;
      assert.equal(world.received.length, 1);
      assert.equal(got?.url, "/late/hook?a=b");
      assert.equal(got?.body.toString(), body);
      assert.equal(got?.headers["x-hub-signature-256"], headers["x-hub-signature-256"]);
      assert.equal(got?.headers["x-github-event"], "ping");
      assert.equal(got?.headers["postern-inbox-id"], answer.headers["postern-inbox-id"]);
      assert.equal(got?.headers["postern-inbox-attempt"], "1");
      assert.equal(got?.headers["idempotency-key"], answer.headers["postern-inbox-id"]);
      await agent.close();
    });

    it("an inbox delivers the messages of a line one after the other, and a failing one holds up only its own line", async () => {
      await world.route("/lines", {
        inbox: { enabled: true, order_by: "json.decode(body).line", first_retry_seconds: 1, max_retry_seconds: 1 },
      });
      const before = world.received.length;
      let failures = 2;
      world.answer = ({ body }, response) => {
        if (body.toString() === '{"line":"a","at":1}' && failures > 0) {
          failures -= 1;
          response.statusCode = 500;
        }
        response.end();
      };
      const agent = await world.startAgent();
      for (const at of [0, 1, 2, 3]) {
        for (const line of ["a", "b"]) assert.equal((await post("/lines", JSON.stringify({ line, at }))).status, 202);
      }
      await world.arrived(before + 10);
      const got = world.received
        .slice(before)
        .map(({ body }) => JSON.parse(body.toString()) as { line: string; at: number });
      const of = (line: string) => got.filter((one) => one.line === line).map(({ at }) => at);
      assert.deepEqual(of("b"), [0, 1, 2, 3]);
      assert.deepEqual(of("a"), [0, 1, 1, 1, 2, 3]);
      assert.ok(got.findLastIndex(({ line }) => line === "b") < got.findLastIndex(({ line }) => line === "a"));
      world.answer = (_request, response) => response.end();
      await agent.close();
    });

    it("S9: an inbox drops a second message with the same name, and stores one with another body under the same unsigned id", async () => {
      await world.route("/twice", {
        webhook_verification: { enabled: true, provider: "github", secret },
        inbox: { enabled: true, respond_status: 200, respond_body: "taken", respond_content_type: "text/plain" },
      });
      const before = world.received.length;
      const send = async (body: string, id: string) => {
        const url = `https://${world.host}/twice`;
        const { headers } = signSample("github", { secret, body: Buffer.from(body), url, now: Date.now() });
        const answer = await post("/twice", body, { ...headers, "x-github-delivery": id });
        assert.equal(answer.status, 200);
        assert.equal(answer.text, "taken");
        assert.equal(answer.headers["content-type"], "text/plain");
        return answer.headers["postern-inbox-id"] !== undefined;
      };
      assert.deepEqual(
        [await send("one", "1"), await send("one", "1"), await send("two", "1"), await send("one", "2")],
        [true, false, true, true],
      );
      const agent = await world.startAgent();
      await world.arrived(before + 3);
      assert.deepEqual(
        world.received
          .slice(before)
          .map(({ body }) => body.toString())
          .sort(),
        ["one", "one", "two"],
      );
      await agent.close();
    });

    it("an inbox passes other methods to the service directly, and rejects an expression that does not compile", async () => {
      const agent = await world.startAgent();
      const answer = await world.platform.request(`https://${world.host}/twice`, { method: "GET" });
      assert.equal(answer.status, 403, "webhook verification comes first");
      await world.route("/open", { inbox: { enabled: true } });
      assert.equal((await world.platform.request(`https://${world.host}/open`)).status, 200);
      const refused = await world.platform.api("POST", `/edges/https/${world.edgeId}/routes`, {
        match_type: "path_prefix",
        match: "/bad",
        inbox: { enabled: true, order_by: "no.such(" },
      });
      assert.equal(refused.status, 400);
      assert.match(refused.text, /order_by/);
      await agent.close();
    });

    it("an inbox retries until the message is dead, shows it with its attempts, and delivers it again on request", async () => {
      const route = await world.route("/dying", {
        webhook_verification: { enabled: true, provider: "stripe", secret },
        inbox: { enabled: true, max_attempts: 2, first_retry_seconds: 1 },
      });
      const before = world.received.length;
      world.answer = (_request, response) => {
        response.statusCode = 500;
        response.end();
      };
      const agent = await world.startAgent();
      const body = '{"id":"evt_9","type":"invoice.paid"}';
      const url = `https://${world.host}/dying`;
      const { headers } = signSample("stripe", { secret, body: Buffer.from(body), url, now: Date.now() });
      const id = (await post("/dying", body, headers)).headers["postern-inbox-id"] as string;
      const state = async () => (await world.ok("GET", `/inbox_messages/${id}`)).state as string;
      await eventually(state, (now) => now === "dead");
      assert.equal(world.received.length, before + 2);
      const shown = await world.ok("GET", `/inbox_messages/${id}`);
      assert.deepEqual(
        shown.attempt_list.map(({ number, status_code }: ApiBody) => [number, status_code]),
        [
          [1, 500],
          [2, 500],
        ],
      );
      assert.equal(shown.event_type, "invoice.paid");
      assert.equal(shown.route_id, route.id);
      const payload = await world.ok("GET", `/inbox_messages/${id}/payload`);
      assert.equal(payload.body, body);
      const dead = (query: string) => world.ok("GET", `/inbox_messages?route_id=${route.id}&${query}`);
      assert.equal((await dead("state=dead")).inbox_messages.length, 1);
      assert.equal((await dead("state=dead&text=INVOICE")).inbox_messages.length, 1);
      assert.equal((await dead("state=delivered")).inbox_messages.length, 0);

      world.answer = (_request, response) => response.end();
      const filter = `route_id=${route.id}&state=dead`;
      assert.deepEqual(await world.ok("POST", `/inbox_messages/deliver?${filter}&dry_run=true`), {
        count: 1,
        dry_run: true,
      });
      assert.equal(await state(), "dead");
      assert.deepEqual(await world.ok("POST", `/inbox_messages/deliver?${filter}`), { count: 1, dry_run: false });
      await eventually(state, (now) => now === "delivered");
      assert.equal((await world.platform.api("POST", `/inbox_messages/${id}/discard`)).status, 409);
      await agent.close();
    });

    it("an inbox holds messages while its deliveries are paused, ends one with 410, and discards one", async () => {
      const route = await world.route("/paused", { inbox: { enabled: true } });
      const agent = await world.startAgent();
      const before = world.received.length;
      await world.ok("POST", `/inboxes/${route.id}/pause`);
      const ids: string[] = [];
      for (const body of ["1", "2"]) ids.push((await post("/paused", body)).headers["postern-inbox-id"] as string);
      const inbox = async () =>
        (await world.ok("GET", "/inboxes")).inboxes.find((one: ApiBody) => one.route_id === route.id) as ApiBody;
      assert.equal((await inbox()).waiting, 2);
      assert.equal((await inbox()).paused, true);
      assert.equal(world.received.length, before);
      await world.ok("POST", `/inbox_messages/${ids[0]}/discard`);
      world.answer = (_request, response) => {
        response.statusCode = 410;
        response.end();
      };
      await world.ok("POST", `/inboxes/${route.id}/resume`);
      const states = async () =>
        await Promise.all(ids.map(async (id) => (await world.ok("GET", `/inbox_messages/${id}`)).state as string));
      await eventually(states, ([, second]) => second === "refused");
      assert.deepEqual(await states(), ["discarded", "refused"]);
      assert.equal(world.received.length, before + 1);
      await agent.close();
    });

    it("S9: an inbox stores a body of 8 MiB and delivers it unchanged, and rejects one more byte", async () => {
      await world.route("/large", { inbox: { enabled: true } });
      const largest = "0123456789abcdef".repeat(maxInboxBody / 16);
      const before = world.received.length;
      const refused = await post("/large", `${largest}x`);
      assert.equal(refused.status, 413);
      assert.equal(refused.headers["postern-error-code"], errorCode("payload_too_large"));
      assert.equal((await post("/large", largest)).status, 202);
      world.answer = (_request, response) => response.end();
      const agent = await world.startAgent();
      await world.arrived(before + 1);
      const [got] = world.received.slice(before);
      assert.ok(got?.body.equals(Buffer.from(largest)));
      await agent.close();
      assert.equal(world.received.length, before + 1);
    });

    it("S9: an inbox answers 503 and calls no service while the control plane is away, and works again after it", async () => {
      const agent = await world.startAgent();
      world.answer = (_request, response) => response.end();
      const before = world.received.length;
      await world.platform.stopControlPlane();
      const refused = await post("/open", "lost");
      assert.equal(refused.status, 503);
      assert.equal(refused.headers["postern-error-code"], errorCode("inbox_unavailable"));
      assert.equal(refused.headers["retry-after"], "30");
      await world.platform.startControlPlane();
      await eventually(
        async () => (await post("/open", "kept")).status,
        (status) => status === 202,
      );
      await world.arrived(before + 1);
      assert.ok(world.received.slice(before).every(({ body }) => body.toString() === "kept"));
      await agent.close();
    });
  });
}
