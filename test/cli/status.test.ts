/** `postern status`: one screen, JSON, and exit codes for monitoring. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { collectState } from "../../src/cli/status/collect.ts";
import type { ServerState } from "../../src/cli/status/collect.ts";
import { judgeServer, worstLevel } from "../../src/cli/status/judge-server.ts";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { Postern } from "../../sdk/src/index.ts";
import { root } from "../support/command.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { skipWithout } from "../support/programs.ts";
import { runSharedCommand } from "../support/shared-command.ts";
import { startTmux } from "../support/tmux.ts";

interface Shown {
  readonly level: string;
  readonly checks: readonly { readonly about: string; readonly level: string; readonly message: string }[];
}

describe("postern status", { timeout: 120_000 }, () => {
  const home = mkdtempSync(join(tmpdir(), "postern-status-"));
  let platform: TestPlatform;
  before(async () => {
    platform = await startPlatform({ drainMs: 50 });
  });
  after(async () => {
    await platform.stop();
    rmSync(home, { recursive: true });
  });
  const shown = async (...args: string[]): Promise<{ readonly code: number | null } & Shown> => {
    const { code, stdout } = await runSharedCommand(["status", "--json", ...args], {
      env: { POSTERN_DATA: platform.directory },
    });
    return { code, ...(JSON.parse(stdout) as Shown) };
  };
  const messages = ({ checks }: Shown, about: string): string =>
    checks.flatMap((one) => (one.about === about ? [one.message] : [])).join("; ");
  const certificate = async (days: number) => {
    const now = Date.now() - 10 * 86_400_000;
    const authority = await createAuthority({ commonName: "Test", now });
    const leaf = await issueLeaf(authority, { names: [`in-${days}.example.com`], now, days: days + 10 });
    const body = { certificate_pem: leaf.certificatePem, private_key_pem: leaf.keyPem };
    return (await platform.api("POST", "/tls_certificates", body)).body.id as string;
  };

  it("postern status shows every subject, and exits with 0 if all is fine", async () => {
    const agent = await platform.startAgent({ upstream: 1 });
    const found = await shown();
    await agent.close();
    assert.deepEqual(
      [...new Set(found.checks.map(({ about }) => about))],
      ["server", "nodes", "edges", "database", "certificates", "agents", "problems", "disk", "last error"],
    );
    assert.match(messages(found, "agents"), /^1 agent, 1 public URL$/);
    assert.match(messages(found, "nodes"), /^1 running, version /);
    // The test's machine may be short of disk space.
    const others = found.checks.filter(({ about }) => about !== "disk");
    assert.ok(
      others.every(({ level }) => level === "fine"),
      JSON.stringify(others),
    );
    const { stdout } = await runSharedCommand(["status"], { env: { POSTERN_DATA: platform.directory } });
    assert.match(stdout, /^✓ server +accepts traffic\n✓ nodes +1 running/);
  });

  it("postern status warns of certificates that expire, and exits with 9 and then 1", async () => {
    const ids = [await certificate(15), await certificate(90)];
    const warned = await shown();
    assert.match(messages(warned, "certificates"), /^2 stored, the next expires in 1[45] days \(in-15\.example\.com\)/);
    assert.ok(warned.checks.some(({ level, message }) => level === "warning" && /in-15.* expires in/.test(message)));
    assert.ok(warned.code === 9 || warned.level === "critical");
    ids.push(await certificate(3));
    const critical = await shown();
    assert.deepEqual([critical.code, critical.level], [1, "critical"]);
    for (const id of ids) await platform.api("DELETE", `/tls_certificates/${id}`);
  });

  it("postern status shows the last failed request, and works for keys of accounts other than the operator's", async () => {
    const agent = await platform.startAgent({ upstream: 1 });
    await platform.request(`${agent.url}/broken`);
    await agent.close();
    assert.match(messages(await shown(), "last error"), /GET .*\/broken: /);
    const { token } = (await platform.api("POST", "/api_keys", {})).body;
    const found = await shown("--api-url", platform.apiUrl, "--api-key", token);
    assert.match(messages(found, "nodes"), /only an operator's key/);
    assert.ok(!found.checks.some(({ about }) => about === "disk"));
  });

  it("postern status exits with 4 if no server answers, and with 3 if the key is wrong", async () => {
    for (const [args, data, code] of [
      [[], join(home, "nothing"), 4],
      [["--api-url", "http://127.0.0.1:1", "--api-key", "postern_ak_x"], home, 4],
      [["--api-url", platform.apiUrl, "--api-key", "postern_ak_x"], home, 3],
    ] as const) {
      const ended = await runSharedCommand(["status", ...args], { env: { POSTERN_DATA: data } });
      assert.equal(ended.code, code, ended.stderr);
    }
  });

  it("postern status distinguishes critical states from warnings", async () => {
    const api = new Postern({ baseUrl: platform.apiUrl, apiKey: platform.apiKey });
    const state = await collectState(api, undefined);
    const [node] = state.nodes ?? [];
    assert.ok(node);
    const domain = {
      domain: "shop.example.com",
      certificate_management_status: { provisioning_job: { error_code: "ERR_X", msg: "no A record" } },
    };
    const problem = { kind: "https_edge_route", id: "edghtsrt_1", uri: "", module: "oauth", message: "has no app" };
    const cases: readonly (readonly [Partial<ServerState>, string, RegExp])[] = [
      [{}, "fine", /no failed request|GET/],
      [{ notReady: "no edge has a configuration yet" }, "critical", /no edge has a configuration/],
      [{ noWrites: "writes are rejected" }, "critical", /writes are rejected/],
      [{ edges: 0 }, "critical", /0 connected/],
      [{ problems: [problem] }, "critical", /edghtsrt_1, oauth: has no app/],
      [
        { nodes: [node, { ...node, lease: "over", api_url: "http://other" }] },
        "warning",
        /http:\/\/other is disconnected/,
      ],
      [{ domains: [domain as never] }, "warning", /shop\.example\.com: no A record \(ERR_X\)/],
      [{ disk: { freeBytes: 1, totalBytes: 100 } }, "critical", /\(1 %\)/],
      [{ disk: { freeBytes: 10, totalBytes: 100 } }, "warning", /\(10 %\)/],
      [{ disk: { freeBytes: 90, totalBytes: 100 } }, "fine", /\(90 %\)/],
    ];
    for (const [change, level, message] of cases) {
      const checks = judgeServer({ ...state, ...change }, Date.now());
      assert.equal(worstLevel(checks), level, JSON.stringify(checks));
      assert.match(checks.map((one) => one.message).join("\n"), message);
    }
  });

  it("postern status --watch repeats the state until it is stopped", { skip: skipWithout("tmux") }, async () => {
    const terminal = await startTmux(100, 30, { POSTERN_DATA: platform.directory });
    await terminal.type(`${process.execPath} ${join(root, "bin/postern.js")} status --watch; echo ended $?`);
    await terminal.until((seen) => seen.includes("accepts traffic") && seen.includes("0 agents"));
    const agent = await platform.startAgent({ upstream: 1 });
    await terminal.until((seen) => seen.includes("1 agent, 1 public URL"));
    await agent.close();
    await terminal.press("C-c");
    await terminal.until((seen) => seen.includes("ended 130"));
    await terminal.stop();
  });
});
