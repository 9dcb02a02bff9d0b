/** Responses made at the edge, including fields that a map cannot express. */
import assert from "node:assert/strict";
import { after, before, describe, it, mock } from "node:test";
import type { CompiledModule } from "../../src/traffic/module.ts";
import { answerStep } from "../../src/traffic/step.ts";
import { userAgentFilter } from "../../src/modules/user-agent-filter.ts";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";

const cookies = ["__Host-flow=a; Path=/; Secure; HttpOnly", "__Host-old=; Path=/; Max-Age=0; Secure"];

describe("a response of the edge's own", () => {
  let fixture: EdgeWithAgent;
  before(async () => (fixture = await startEdgeWithAgent()));
  after(() => fixture.stop());

  /** As a login module answers: sets one cookie and expires another. */
  const answerWith = (headers: Readonly<Record<string, string | readonly string[]>>): void => {
    const step = answerStep("user_agent_filter", "for a test", { status: 303, headers, body: "" });
    const compile = mock.method(userAgentFilter, "compile", (): CompiledModule => ({ request: () => step }));
    fixture.route({ user_agent_filter: { enabled: true, allow: [], deny: [] } });
    compile.mock.restore();
  };

  for (const protocol of protocols) {
    it(`a response of the edge's own has a field line for each of several cookies over ${protocol}`, async () => {
      answerWith({ location: "/next", "set-cookie": cookies });
      const answer = await fixture.ask(protocol, {});
      assert.equal(answer.status, 303);
      assert.deepEqual(answer.headers["set-cookie"], cookies);
      assert.equal(answer.headers.location, "/next");
    });

    it(`W1: a response of the edge's own is refused as a whole when one of several values would break the message over ${protocol}`, async () => {
      answerWith({ "set-cookie": [cookies[0] as string, "b=1\r\nx-bad: 1"] });
      const answer = await fixture.ask(protocol, {});
      assert.equal(answer.status, 500);
      assert.deepEqual([answer.headers["set-cookie"], answer.headers["x-bad"]], [undefined, undefined]);
    });
  }
});
