/** Rules of policies on the messages of event streams, on real traffic. */
import assert from "node:assert/strict";
import { gunzipSync, gzipSync } from "node:zlib";
import type { ServerResponse } from "node:http";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import type { StepReport } from "../../src/routing/planes/edge-questions.ts";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import type { Asked } from "../support/http-client.ts";
import { openStream } from "../support/open-stream.ts";

let fixture: EdgeWithAgent;
before(async () => {
  fixture = await startEdgeWithAgent({ limits: { traces: { sampled: { perSecond: 1e6, burst: 1e6 } } } });
});
after(() => fixture.stop());

const replace = (from: string, to = "", field = "data", more: object = {}) => ({
  actions: [{ type: "sse-find-replace", config: { replacements: [{ field, from, to }], ...more } }],
});
const policy = (messages: readonly object[], others: object = {}): void =>
  fixture.route({
    traffic_policy: { enabled: true, value: JSON.stringify({ on_event_stream_message: messages, ...others }) },
  });
const eventStream = { "content-type": "text/event-stream; charset=utf-8" };

/** The service answers with these pieces, one by one. */
function serve(pieces: readonly (string | Buffer)[], headers: Readonly<Record<string, string>> = eventStream): void {
  fixture.answer((_request, response) => {
    response.writeHead(200, headers);
    for (const piece of pieces) response.write(piece);
    response.end();
  });
}

async function stepsOf({ headers }: Asked): Promise<readonly StepReport[]> {
  const told = await fixture.edge.question({ name: "request", accountId: "ac_1", id: String(headers["x-request-id"]) });
  assert.ok(told.name === "requests");
  return told.requests[0]?.steps ?? [];
}

for (const protocol of protocols) {
  describe(`an event stream over ${protocol}`, () => {
    it(`an event stream over ${protocol} has its messages changed, however they are split`, async () => {
      policy([replace("secret-\\d+", "[hidden]")]);
      const text = "data: a secret-17 b\nid: secret-1\n\n: secret-2\n\ndata: two\ndata: secret-3\n\n";
      for (const size of [1, 7, text.length]) {
        serve(text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? []);
        const { body, headers } = await fixture.ask(protocol);
        assert.equal(
          body.toString(),
          "data: a [hidden] b\nid: secret-1\n\n: secret-2\n\ndata: two\ndata: [hidden]\n\n",
          `by ${size}`,
        );
        assert.equal(headers["content-length"], undefined);
      }
    });

    it(`an event stream over ${protocol} is passed on message by message`, async () => {
      policy([replace("\\d", "#")]);
      let response: ServerResponse | undefined;
      fixture.answer((_request, given) => {
        response = given;
        given.writeHead(200, eventStream).flushHeaders();
      });
      const { stream, close } = await openStream(fixture, protocol);
      const messages = stream.setEncoding("utf8")[Symbol.asyncIterator]();
      for (let count = 0; count < 10; count += 1) {
        response?.write(`data: ${count}\n\n`);
        assert.equal((await messages.next()).value, "data: #\n\n");
      }
      response?.end();
      assert.equal((await messages.next()).done, true);
      close();
    });

    it(`an event stream over ${protocol} has rules with expressions, steps and variables for each message`, async () => {
      const costly = "lists.range(900).all(a, a >= 0)";
      policy([
        { expressions: [costly, "res.status_code == 200", "req.url.path == '/a'"], ...replace("a", "b") },
        { expressions: ["actions.ngrok.sse_find_replace.replacements.size() > 1"], ...replace("b+", "many") },
      ]);
      serve(Array.from({ length: 300 }, (_, at) => `data: ${"a".repeat((at % 2) + 1)}\n\n`));
      const answer = await fixture.ask(protocol, { path: "/a" });
      assert.equal(answer.body.toString(), "data: b\n\ndata: many\n\n".repeat(150));
      const steps = await stepsOf(answer);
      assert.equal(steps.at(-1)?.reason, "300 messages of an event stream, 300 changed");
      assert.ok(steps.length < 15, "a step for each message");
      assert.equal(
        (await fixture.ask(protocol, { path: "/b" })).body.toString(),
        "data: a\n\ndata: aa\n\n".repeat(150),
      );
    });

    it(`an event stream over ${protocol} passes messages that are too long if on_error allows it, and ends at one that cannot be changed`, async () => {
      const passing = { on_error: "continue" };
      policy([replace("a", "\n\ndata: b", "id", passing), replace("a", "c", "data", passing)]);
      const long = `data: ${"a".repeat(70_000)}\n\n`;
      serve([long, "data: a\n\n"]);
      const answer = await fixture.ask(protocol);
      assert.equal(answer.body.toString(), `${long}data: c\n\n`);
      const steps = await stepsOf(answer);
      assert.match(steps.at(-1)?.reason ?? "", /^1 messages .* 1 changed, 1 longer than 65536 bytes and unchanged$/);
      serve(["data: a\n\n", "id: a\n\n", "data: a\n\n"]);
      await assert.rejects(fixture.ask(protocol));
    });

    it(`D11: an event stream over ${protocol} ends at a message that is too long or not UTF-8, and nothing of it passes`, async () => {
      policy([replace("secret")]);
      for (const bad of [`data: secret ${"a".repeat(70_000)}\n\n`, Buffer.from("data: \xff secret\n\n", "latin1")]) {
        serve(["data: one\n\n", bad]);
        const { stream, close } = await openStream(fixture, protocol);
        let text = "";
        await assert.rejects(async () => {
          for await (const piece of stream.setEncoding("utf8")) text += String(piece);
        });
        assert.ok(!text.includes("secret"));
        close();
      }
    });

    it(`D11: an event stream over ${protocol} is requested uncompressed, and refused if it arrives compressed`, async () => {
      policy([replace("a", "b")]);
      fixture.answer(({ headers }, response) => {
        const isPlain = headers["accept-encoding"] === "identity";
        response.writeHead(200, isPlain ? eventStream : { ...eventStream, "content-encoding": "gzip" });
        response.end(isPlain ? "data: a\n\n" : gzipSync("data: a\n\n"));
      });
      const asked = { headers: { "accept-encoding": "gzip" } };
      assert.equal((await fixture.ask(protocol, asked)).body.toString(), "data: b\n\n");
      serve([gzipSync("data: a\n\n")], { ...eventStream, "content-encoding": "gzip" });
      const { status, headers } = await fixture.ask(protocol, asked);
      assert.deepEqual([status, headers["ngrok-error-code"]], [500, errorCode("message_replacement_failed")]);
    });

    it(`an event stream over ${protocol} is compressed after its rules, and passed unchanged if it arrives compressed and on_error allows it`, async () => {
      const compressing = { on_http_response: [{ actions: [{ type: "compress-response" }] }] };
      policy([replace("a", "b", "data", { on_error: "continue" })], compressing);
      serve(["data: a\n\n"]);
      const packed = await fixture.ask(protocol, { headers: { "accept-encoding": "gzip" } });
      assert.equal(packed.headers["content-encoding"], "gzip");
      assert.equal(gunzipSync(packed.body).toString(), "data: b\n\n");
      const came = gzipSync("data: a\n\n");
      serve([came], { ...eventStream, "content-encoding": "gzip" });
      const left = await fixture.ask(protocol, { headers: { "accept-encoding": "gzip" } });
      assert.ok(left.body.equals(came));
      assert.ok((await stepsOf(left)).some(({ reason }) => reason.includes("compressed: its messages pass unchanged")));
    });

    it(`an event stream over ${protocol} is known by its type: other bodies have no messages`, async () => {
      policy([replace("a", "b")]);
      serve(["data: a\n\n"], { "content-type": "text/event-streams", "content-length": "9" });
      const { body, headers } = await fixture.ask(protocol);
      assert.deepEqual([body.toString(), headers["content-length"]], ["data: a\n\n", "9"]);
      const head = await fixture.ask(protocol, { method: "HEAD" });
      assert.equal(head.status, 200);
    });

    it(`messages of an event stream over ${protocol} that a rule answers are changed as well`, async () => {
      const config = { body: "data: a\n\ndata: aa\n\n", headers: { "content-type": "text/event-stream" } };
      policy([replace("a", "b")], { on_http_request: [{ actions: [{ type: "custom-response", config }] }] });
      const { body, headers } = await fixture.ask(protocol);
      assert.deepEqual([body.toString(), headers["content-length"]], ["data: b\n\ndata: bb\n\n", "19"]);
    });

    it(`an event stream over ${protocol} holds back a service whose client does not read`, async () => {
      policy([replace("a", "b")]);
      let blocked = 0;
      const total = 3000;
      const message = `data: ${"x".repeat(10_000)}\n\n`;
      fixture.answer((_request, response) => {
        response.writeHead(200, eventStream);
        let written = 0;
        const write = (): void => {
          while (written < total) {
            written += 1;
            if (response.write(message)) continue;
            blocked += 1;
            response.once("drain", write);
            return;
          }
          response.end();
        };
        write();
      });
      const { body } = await fixture.ask(protocol);
      assert.equal(body.length, total * message.length);
      assert.ok(blocked > 0);
    });
  });
}

it("an event stream ends if its rules refuse messages that they cannot evaluate", async () => {
  const refusing = await startEdgeWithAgent({ policyExpressionErrors: "refuse" });
  const value = { on_event_stream_message: [{ expressions: ["req.headers['x-none'][0] == 'a'"], ...replace("a") }] };
  refusing.route({ traffic_policy: { enabled: true, value: JSON.stringify(value) } });
  refusing.answer((_request, response) => response.writeHead(200, eventStream).end("data: a\n\n"));
  for (const protocol of protocols) {
    const { stream, close } = await openStream(refusing, protocol);
    await assert.rejects(async () => {
      for await (const piece of stream) assert.fail(`it got ${String(piece)}`);
    }, /aborted|socket hang up|closed|INTERNAL_ERROR|CANCEL/i);
    close();
  }
  await refusing.stop();
});
