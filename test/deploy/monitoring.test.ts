/** Dashboards and alerts of `deploy/monitoring`, read by the programs that they are for. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { stringify } from "yaml";
import { queriesOf } from "../../scripts/monitoring/query.ts";
import { metricsCatalogue } from "../../scripts/reference/metrics.ts";
import { root } from "../support/command.ts";
import { freePort } from "../support/connections.ts";
import { deployText } from "../support/deploy-files.ts";
import { eventually } from "../support/eventually.ts";
import { startPlatform } from "../support/platform.ts";
import { skipWithout } from "../support/programs.ts";

interface Answer {
  readonly status: string;
  readonly data?: { readonly result: readonly unknown[] };
}

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}

const directory = mkdtempSync(join(tmpdir(), "postern-monitoring-"));
after(() => rmSync(directory, { recursive: true, force: true }));
const rulesFile = join(root, "deploy/monitoring/rules.yaml");

describe("the monitoring files", { timeout: 120_000 }, () => {
  it("the monitoring files cannot name metrics or labels that do not exist", () => {
    const queries = queriesOf(metricsCatalogue(), "");
    assert.throws(() => queries.now("no_such_metric"), /no metric postern_no_such_metric/);
    assert.throws(() => queries.rate("tunnels", { by: "nothing" }), /no label nothing/);
  });

  it("the alerting rules pass promtool and fire", { skip: skipWithout("promtool") }, () => {
    const checked = spawnSync("promtool", ["check", "rules", rulesFile], { encoding: "utf8" });
    assert.equal(checked.status, 0, checked.stderr);
    const alert = (alertname: string, eval_time: string, exp_alerts: readonly object[]) => ({
      alertname,
      eval_time,
      exp_alerts,
    });
    const series = (name: string, values: string) => ({ series: name, values });
    const fired = (exp_labels: object) => [{ exp_labels }];
    const names = ["PosternNotReady", "PosternRequestsFail", "PosternAccessLogLost"];
    const text = deployText("monitoring/rules.yaml");
    for (const name of names) assert.ok(text.includes(`alert: ${name}\n`), name);
    // Annotations are compared, too, so the tests use the rules without them.
    const bare = join(directory, "rules.yaml");
    writeFileSync(bare, text.replaceAll(/^ {8}annotations:\n(?: {10}.*\n)+/gm, ""));
    const tests = join(directory, "tests.yaml");
    writeFileSync(
      tests,
      stringify({
        rule_files: [bare],
        tests: [
          {
            interval: "1m",
            input_series: [
              series('postern_ready{instance="a"}', "1x5 0x30"),
              series('postern_http_requests_total{status="2xx"}', "0+100x40"),
              series('postern_http_requests_total{status="5xx"}', "0+20x40"),
              series("postern_access_log_dropped_total", "0x40"),
            ],
            alert_rule_test: [
              alert("PosternNotReady", "4m", []),
              alert("PosternNotReady", "20m", fired({ severity: "critical", instance: "a" })),
              alert("PosternRequestsFail", "30m", fired({ severity: "warning" })),
              alert("PosternAccessLogLost", "30m", []),
            ],
          },
        ],
      }),
    );
    const tested = spawnSync("promtool", ["test", "rules", tests], { encoding: "utf8" });
    assert.equal(tested.status, 0, tested.stdout + tested.stderr);
  });

  it(
    "the dashboard's queries get answers from a Prometheus that reads a server",
    { skip: skipWithout("prometheus") },
    async () => {
      const platform = await startPlatform({}, 1);
      const port = await freePort();
      const config = join(directory, "prometheus.yaml");
      const target = new URL(platform.apiUrl).host;
      const scrape = { job_name: "postern", scrape_interval: "1s", static_configs: [{ targets: [target] }] };
      writeFileSync(config, stringify({ scrape_configs: [scrape], rule_files: [rulesFile] }));
      const prometheus = spawn(
        "prometheus",
        [`--config.file=${config}`, `--storage.tsdb.path=${directory}/data`, `--web.listen-address=127.0.0.1:${port}`],
        { stdio: "ignore" },
      );
      const ended = new Promise((resolve) => prometheus.once("exit", resolve));
      const query = async (expr: string): Promise<Answer> => {
        const answer = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expr)}`);
        return (await answer.json()) as Answer;
      };
      try {
        const unanswered: Answer = { status: "unanswered" };
        await eventually(
          () => query("postern_ready").catch(() => unanswered),
          ({ data }) => (data?.result.length ?? 0) > 0,
        );
        const { panels } = JSON.parse(deployText("monitoring/dashboard.json")) as Dashboard;
        for (const { title, targets } of panels) {
          for (const { expr } of targets) {
            const { status } = await query(expr.replaceAll("$instance", ".*"));
            assert.equal(status, "success", `${title}: ${expr}`);
          }
        }
      } finally {
        prometheus.kill();
        await ended;
        await platform.stop();
      }
    },
  );
});
