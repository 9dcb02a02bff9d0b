/** The file of the access log, as the server writes it and other programs read it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { connect } from "node:tls";
import { freePorts, root, startCommand } from "../support/command.ts";
import { runSharedCommand } from "../support/shared-command.ts";
import { eventually } from "../support/eventually.ts";
import { protocols } from "../support/http-client.ts";
import { metricSum } from "../support/metrics.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { skipWithout } from "../support/programs.ts";
import { startHttpService } from "../support/services.ts";

const directory = mkdtempSync(join(tmpdir(), "postern-access-log-"));
after(() => rmSync(directory, { recursive: true, force: true }));

/** The whole lines of a file. */
function linesOf(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}

/** One server with an agent. Ids of requests that were served name their lines. */
async function withServer(
  options: Parameters<typeof startPlatform>[0],
  run: (platform: TestPlatform, ask: (path: string) => Promise<string>) => Promise<void>,
): Promise<void> {
  const platform = await startPlatform(options, 1);
  const service = await startHttpService((_request, response) => response.end("served"));
  try {
    const agent = await platform.startAgent({ upstream: service.port });
    await run(platform, async (path) => {
      const answer = await platform.request(`${agent.url}${path}`);
      assert.equal(answer.status, 200);
      return answer.id;
    });
  } finally {
    await platform.stop();
    await service.stop();
  }
}

describe("the file of the access log", { timeout: 120_000 }, () => {
  it("the file of the access log has the requests of every edge, and the last ones after a stop", async () => {
    const file = join(directory, "all.log");
    const ids: string[] = [];
    await withServer({ edges: 2, accessLog: file }, async (_platform, ask) => {
      for (let count = 0; count < 20; count += 1) ids.push(await ask(`/${count}`));
    });
    const logged = linesOf(file).map((line) => (JSON.parse(line) as { id: string }).id);
    assert.deepEqual(logged.sort(), ids.sort());
  });

  it("the file of the access log is opened again on a reload, and no line is lost", async () => {
    const file = join(directory, "rotated.log");
    const ids: string[] = [];
    await withServer({ accessLog: file }, async (platform, ask) => {
      for (let count = 0; count < 3; count += 1) {
        const id = await ask("/");
        ids.push(id);
        await eventually(
          () => linesOf(file),
          (lines) => lines.some((line) => line.includes(id)),
        );
        renameSync(file, `${file}.${count}`);
        platform.reload();
        await eventually(() => existsSync(file), Boolean);
      }
      ids.push(await ask("/"));
    });
    const logged = [`${file}.0`, `${file}.1`, `${file}.2`, file].flatMap(linesOf);
    assert.deepEqual(logged.map((line) => (JSON.parse(line) as { id: string }).id).sort(), ids.sort());
    assert.equal(linesOf(file).length, 1);
  });

  it("D10: the file of the access log on a full disk loses lines, which are counted, and no request", async () => {
    const file = join(directory, "full.log");
    symlinkSync("/dev/full", file);
    await withServer({ accessLog: file }, async (platform, ask) => {
      for (let count = 0; count < 3; count += 1) await ask("/");
      const metrics = await eventually(
        async () => (await platform.api("GET", "/metrics")).text,
        (text) => metricSum(text, "postern_access_log_dropped_total") === 3,
      );
      assert.equal(metricSum(metrics, "postern_access_log_lines_total"), 3);
    });
  });

  it("the access log goes to standard output for -, after the server's own line", async () => {
    const args = ["serve", "--json", "--data", join(directory, "data"), "--access-log", "-"];
    const server = startCommand([...args, "--access-log-format", "logfmt"], {
      env: { ...freePorts, POSTERN_DOMAIN: "t.example.com" },
    });
    const { https_port: port } = JSON.parse(await server.firstLine()) as { https_port: number };
    const socket = connect({
      port,
      host: "127.0.0.1",
      servername: "a.t.example.com",
      rejectUnauthorized: false,
    });
    socket.on("error", () => undefined);
    socket.end("GET /nothing HTTP/1.1\r\nHost: a.t.example.com\r\nConnection: close\r\n\r\n");
    await eventually(server.stdout, (text) => text.includes(" path=/nothing "));
    const { code, stdout } = await server.end();
    assert.equal(code, 0);
    assert.match(stdout, /\ntime=\S+ id=req_\S+ source=127\.0\.0\.1 method=GET scheme=https host=a\.t\.example\.com /);
  });

  it("the access log is refused where its file cannot be opened, and where combined has chosen fields", async () => {
    const serve = ["serve", "--data", join(directory, "refused"), "--access-log"];
    const gone = await runSharedCommand([...serve, join(directory, "no/such/file")], { env: freePorts });
    assert.equal(gone.code, 2);
    assert.match(gone.stderr, /cannot open the access log ".*no\/such\/file".*--access-log/);
    const fixed = await runSharedCommand(
      [...serve, join(directory, "x.log"), "--access-log-format", "combined", "--access-log-headers", "x-team"],
      { env: freePorts },
    );
    assert.equal(fixed.code, 2);
    assert.match(fixed.stderr, /combined has fixed fields/);
    const cookie = await runSharedCommand([...serve, "-", "--access-log-headers", "Cookie"], { env: freePorts });
    assert.equal(cookie.code, 2);
    assert.match(cookie.stderr, /--access-log-headers must not be a header field that carries credentials/);
  });
});

describe("the combined access log", { timeout: 120_000 }, () => {
  const file = join(directory, "combined.log");
  let made: Promise<void> | undefined;
  /** Served, not found and denied requests over both versions, one with hostile header fields. */
  const makeLog = (): Promise<void> =>
    (made ??= withServer({ accessLog: file, accessLogFormat: "combined" }, async (platform, ask) => {
      await ask("/served");
      const { body: edge } = await platform.api("POST", "/edges/https", { hostports: ["denied.example.com:443"] });
      const { body: policy } = await platform.api("POST", "/ip_policies", {});
      const { body: backend } = await platform.api("POST", "/backends/http_response", { status_code: 404 });
      for (const [match, ip_policy_ids] of [
        ["/admin", [policy.id]],
        ["/", undefined],
      ] as const) {
        const made = await platform.api("POST", `/edges/https/${edge.id}/routes`, {
          match_type: "path_prefix",
          match,
          backend: { backend_id: backend.id },
          ...(ip_policy_ids && { ip_restriction: { ip_policy_ids } }),
        });
        assert.equal(made.status, 201, made.text);
      }
      const agent = 'Mozilla/5.0 "quoted" \\ 127.0.0.2 - - [x] "GET / HTTP/1.1" 401 1 "-" "-"';
      for (const http of protocols) {
        for (const [path, status] of [
          ["/wp-login.php", 404],
          ["/admin", 403],
        ] as const) {
          const answer = await platform.request(`https://denied.example.com${path}`, {
            http,
            headers: { "user-agent": agent, referer: "https://example.com/a b" },
          });
          assert.equal(answer.status, status);
        }
      }
    }));

  it(
    "the combined access log is read by GoAccess without a failed line",
    { skip: skipWithout("goaccess") },
    async () => {
      await makeLog();
      const report = join(directory, "report.json");
      const read = spawnSync(
        "goaccess",
        [file, "--log-format=COMBINED", "--no-global-config", "--no-progress", "-o", report],
        { encoding: "utf8" },
      );
      assert.equal(read.status, 0, read.stderr);
      const { general } = JSON.parse(readFileSync(report, "utf8")) as { general: Record<string, number> };
      assert.deepEqual([general["total_requests"], general["valid_requests"], general["failed_requests"]], [5, 5, 0]);
    },
  );

  it(
    "the combined access log is read by fail2ban's own filters and ours, and a header field bans nothing else",
    { skip: skipWithout("fail2ban-regex") },
    async () => {
      await makeLog();
      for (const [filter, lines] of [
        ["nginx-botsearch", 2],
        [join(root, "deploy/fail2ban/postern.conf"), 2],
      ] as const) {
        const read = spawnSync("fail2ban-regex", ["--print-all-matched", file, filter], { encoding: "utf8" });
        assert.match(
          read.stdout,
          new RegExp(`Lines: 5 lines, 0 ignored, ${lines} matched, ${5 - lines} missed`),
          filter,
        );
        const matched = /Matched line\(s\):([^]*?)`-/.exec(read.stdout)?.[1] ?? "";
        assert.equal(matched.match(/^\| {2}127\.0\.0\.1 /gm)?.length, lines);
      }
    },
  );
});
