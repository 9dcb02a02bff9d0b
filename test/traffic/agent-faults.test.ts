/** Messages about an unusable service, in the agent's log and in the trace of the request. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { parseUpstream } from "../../src/agent/upstream.ts";
import type { Upstream } from "../../src/agent/upstream.ts";
import { makeLog } from "../../src/lib/log.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { eventually } from "../support/eventually.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService, startHttpsService, startTcpService } from "../support/services.ts";
import type { HttpService, HttpsService, TcpService } from "../support/services.ts";

describe("a fault of an agent's service", { timeout: 120_000 }, () => {
  let platform: TestPlatform;
  let http: HttpService;
  let https: HttpsService;
  /** Answers plain requests with an alert of TLS, as some servers do. */
  let alerting: TcpService;
  /** Ends every connection without a byte, and speaks no TLS. */
  let silent: TcpService;
  let longHead: HttpService;

  before(async () => {
    platform = await startPlatform({ drainMs: 50 });
    http = await startHttpService((_request, response) => response.end("plain"));
    https = await startHttpsService((_request, response) => response.end("in TLS"), ["app.internal"]);
    alerting = await startTcpService((socket) => {
      socket.once("data", () => socket.end(Buffer.from([21, 3, 1, 0, 2, 2, 70])));
    });
    silent = await startTcpService((socket) => void socket.once("data", () => socket.end()));
    longHead = await startHttpService((_request, response) => {
      for (let at = 0; at < 4; at += 1) response.setHeader(`x-${at}`, "a".repeat(12_000));
      response.end();
    });
  });
  after(async () => {
    await platform.stop();
    for (const one of [http, https, alerting, silent, longHead]) await one.stop();
  });

  /** Two requests to the service: the answer, the agent's log, and the reason in the trace of each. */
  async function asked(upstream: Upstream, times = 0) {
    let log = "";
    const agent = await platform.startAgent({
      upstream: 1,
      tunnel: { upstream, service: () => {} },
      agent: {
        log: makeLog({
          level: "warn",
          format: "json",
          now: Date.now,
          monotonic: () => performance.now(),
          write: (lines) => (log += lines),
        }),
      },
    });
    const answers = [];
    for (let at = 0; at < 2; at += 1) {
      const { status, text, headers } = await platform.request(agent.url);
      const id = String(headers["x-request-id"]);
      const trace = await eventually(
        async () => (await platform.api("GET", `/requests/${id}`)).body,
        ({ steps }) => status === 200 || steps !== undefined,
      );
      answers.push({ status, text, trace: JSON.stringify(trace.steps) });
    }
    await agent.close();
    // Lines are written together, a moment later.
    await eventually(
      () => log.split("connection to the service failed").length - 1,
      (count) => count >= times,
    );
    return { answers, log };
  }

  const dialFailed = errorCode("agent_dial_failed");
  const invalid = errorCode("upstream_invalid");
  for (const [what, upstream, code, sentence, times] of [
    [
      "that speaks TLS and is asked in plain text",
      () => `http://localhost:${https.port}`,
      dialFailed,
      /uses TLS: publish https:\/\/localhost:\d+/,
      2,
    ],
    [
      "that speaks TLS and is asked in plain HTTP/2",
      () => `h2c://localhost:${https.port}`,
      dialFailed,
      /uses TLS: publish https:\/\/localhost:\d+ with --upstream-protocol http2/,
      2,
    ],
    [
      "that answers a plain request with a TLS alert",
      () => `http://localhost:${alerting.port}`,
      dialFailed,
      /uses TLS: publish https:/,
      2,
    ],
    [
      "that speaks no TLS and is asked in TLS",
      () => `https://localhost:${http.port}`,
      dialFailed,
      /does not use TLS: publish http:\/\/localhost:\d+/,
      0,
    ],
    [
      "that sends a head of 48 kB",
      () => `http://localhost:${longHead.port}`,
      invalid,
      /its header is larger than 32768 bytes/,
      0,
    ],
  ] as const) {
    it(`an agent's service ${what} is reported with advice, each time`, async () => {
      const { answers, log } = await asked(parseUpstream(upstream()), times);
      for (const { status, text, trace } of answers) {
        assert.equal(status, 502);
        assert.match(text, new RegExp(code));
        assert.match(trace, sentence);
      }
      const lines = log.split("\n").filter((line) => sentence.test(line) && /failed/.test(line));
      assert.equal(lines.length, times, log);
    });
  }

  it("an agent does not mistake a service for TLS because it ends connections without a response", async () => {
    const { answers, log } = await asked(parseUpstream(`http://localhost:${silent.port}`));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [502, 502],
    );
    assert.match(answers[0]?.text ?? "", new RegExp(errorCode("upstream_refused")));
    assert.doesNotMatch(log + answers[0]?.trace, /TLS/);
  });

  it("a refused certificate is named with its reason, each time, and its authority or name admits it", async () => {
    const verified = { ...parseUpstream(`https://127.0.0.1:${https.port}`), verify: true };
    const ca = https.authorityPem;
    for (const [upstream, sentence] of [
      [
        verified,
        /its certificate is not trusted \(unable to verify the first certificate\): set its CA with --upstream-tls-verify-cas/,
      ],
      [
        { ...verified, ca },
        /its certificate is not trusted \(.*\): set the name in its certificate with --upstream-server-name/,
      ],
      [{ ...verified, ca, serverName: "other.internal" }, /other\.internal.*--upstream-server-name/],
    ] as const) {
      const { answers, log } = await asked(upstream, 2);
      assert.deepEqual(
        answers.map(({ status }) => status),
        [502, 502],
      );
      for (const { text, trace } of answers) assert.match(text + trace, sentence);
      assert.equal(
        log.split("\n").filter((line) => /connection to the service failed/.test(line) && sentence.test(line)).length,
        2,
        log,
      );
    }
    const admitted = await asked({ ...verified, ca, serverName: "app.internal" });
    assert.deepEqual(
      admitted.answers.map(({ status, text }) => [status, text]),
      [
        [200, "in TLS"],
        [200, "in TLS"],
      ],
    );
  });
});
