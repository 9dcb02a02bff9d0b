/** Faulty modules: their route is closed and reported, and all other routes continue (security R6). */
import assert from "node:assert/strict";
import { after, before, it, mock } from "node:test";
import { startHeartbeat, newHeart, workOf } from "../../src/lib/heartbeat.ts";
import { errorCode } from "../../src/lib/errors.ts";
import type { CompiledModule } from "../../src/traffic/module.ts";
import { passStep } from "../../src/traffic/step.ts";
import { userAgentFilter } from "../../src/modules/user-agent-filter.ts";
import type { Problem } from "../../src/routing/planes/messages.ts";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";

let fixture: EdgeWithAgent;
before(async () => (fixture = await startEdgeWithAgent()));
after(() => fixture.stop());

const routeOf = (match: string, blocks: object) => ({
  edge_id: "edghts_1",
  match_type: "path_prefix",
  match,
  backend: { enabled: true, backend_id: "bkdtg_1" },
  ...blocks,
});
const filter = { user_agent_filter: { enabled: true, allow: [], deny: [] } };
const fail = (): never => {
  throw new Error("secret detail");
};
const fine = passStep("user_agent_filter", "nothing is wrong");

const hooks: Record<string, CompiledModule> = {
  "throws at the request": { request: fail },
  "rejects at the request": { request: () => Promise.reject(new Error("secret detail")) },
  "throws at the response": { response: fail },
  "sets a status that cannot be sent": {
    response(exchange) {
      if (exchange.response) exchange.response.status = 100;
      return fine;
    },
  },
  "sets a header field that would break the message": {
    response(exchange) {
      exchange.response?.headers.set("x-bad", "a\r\nb: c");
      return fine;
    },
  },
};

for (const protocol of protocols) {
  for (const [what, compiled] of Object.entries(hooks)) {
    it(`R6: a module that ${what} closes only its own route over ${protocol}, and is reported`, async () => {
      const id = `edghtsrt_failing_${Object.keys(hooks).indexOf(what)}_${protocol}`;
      const reported = (wanted: (problem: Problem) => boolean) =>
        fixture.edge.report(
          (one) => one.type === "problems" && one.problems.some((each) => each.id === id && wanted(each)),
        );
      const compile = mock.method(userAgentFilter, "compile", () => compiled);
      fixture.put("https_edge_route", id, routeOf("/failing", filter));
      compile.mock.restore();
      const reached = fixture.received.length;
      for (let count = 0; count < 2; count += 1) {
        const answer = await fixture.ask(protocol, { path: "/failing", method: "POST", body: "some" });
        assert.equal(answer.status, 500);
        assert.equal(answer.headers["postern-error-code"], errorCode("route_broken"));
        assert.equal(answer.headers["x-bad"], undefined);
        assert.doesNotMatch(answer.body.toString(), /secret|served|user_agent/);
        assert.equal((await fixture.ask(protocol, { path: "/" })).status, 200);
      }
      if (what.includes("request"))
        assert.deepEqual(
          fixture.received.slice(reached).map(({ url }) => url),
          ["/", "/"],
        );
      const report = await reported(({ message }) => message !== undefined);
      assert.ok(report.type === "problems");
      assert.match(report.problems.find((one) => one.id === id)?.message ?? "", /^act on a request: /);
      // Once, however often it fails.
      const told = fixture.edge.reports.flatMap((one) => (one.type === "problems" ? one.problems : []));
      assert.equal(told.filter((problem) => problem.id === id && problem.message !== undefined).length, 1);
      fixture.put("https_edge_route", id, routeOf("/failing", {}));
      await reported(({ message }) => message === undefined);
      assert.equal((await fixture.ask(protocol, { path: "/failing" })).status, 200);
      fixture.edge.remove("https_edge_route", id);
    });
  }

  it(`R6: the site of a running hook over ${protocol} is noted for the watchdog, and only while it runs`, async () => {
    const heart = newHeart();
    startHeartbeat(heart);
    const noted: number[] = [];
    const note = () => {
      noted.push(workOf(heart));
      return fine;
    };
    const compile = mock.method(userAgentFilter, "compile", () => ({ request: note, response: note }));
    for (const one of ["a", "b"]) {
      fixture.put(
        "https_edge_route",
        `edghtsrt_noted_${one}_${protocol}`,
        routeOf(`/noted/${protocol}/${one}`, filter),
      );
    }
    compile.mock.restore();
    for (const one of ["a", "b"]) {
      assert.equal((await fixture.ask(protocol, { path: `/noted/${protocol}/${one}` })).status, 200);
      assert.equal(workOf(heart), 0);
    }
    assert.ok(!noted.includes(0));
    assert.deepEqual([noted[0] === noted[1], noted[2] === noted[3], noted[0] === noted[2]], [true, true, false]);
  });

  it(`R6: a module that throws when it receives the outcome changes nothing for the visitor over ${protocol}`, async () => {
    const id = `edghtsrt_told_${protocol}`;
    const compile = mock.method(userAgentFilter, "compile", (): CompiledModule => ({ settled: fail }));
    fixture.put("https_edge_route", id, routeOf("/told", filter));
    compile.mock.restore();
    const answer = await fixture.ask(protocol, { path: "/told" });
    assert.deepEqual([answer.status, answer.body.toString()], [200, "served"]);
    await fixture.edge.report((one) => one.type === "problems" && one.problems.some((each) => each.id === id));
    fixture.edge.remove("https_edge_route", id);
  });
}
