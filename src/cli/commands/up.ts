import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineCommand } from "../command/command.ts";
import { lineOf } from "../doctor/finding.ts";
import { exitCodes } from "../process/exit.ts";
import { posternProgram } from "../process/program.ts";
import { bringUp } from "../up/bring-up.ts";
import { runChecks } from "../up/checks.ts";
import type { UpChecks } from "../up/checks.ts";
import { checkNames, renderRecords } from "../up/name-checks.ts";
import { planOf } from "../up/up-plan.ts";
import type { UpPlan } from "../up/up-plan.ts";
import { requireService } from "../up/server-service.ts";
import { upSettings } from "../up/up-settings.ts";

/** Pause between two DNS lookups with `--wait`. */
const waitMs = 3_000;

export const up = defineCommand({
  name: "up",
  doc: "Set up a public server on this machine: check DNS, ports, disk and clock, write the configuration, install and start the service, obtain the first certificate, and test the server through its public name. If you run it again, it adds only the missing parts.",
  operands: "",
  least: 0,
  most: 0,
  settings: upSettings,
  examples: [
    "postern up --check --domain t.example.com --email ops@example.com",
    "sudo postern up --domain t.example.com --email ops@example.com",
    "postern up --domain t.example.com --email ops@example.com --foreground --data ~/postern --file ~/postern.yaml",
  ],
  async run(values) {
    const { json, check, foreground, wait } = values;
    const plan = planOf(values);
    if (!check && !foreground) {
      requireService({ program: posternProgram(), config: resolve(values.file), data: plan.data });
    }
    const print = (line: string): void => void process[json ? "stderr" : "stdout"].write(`${line}\n`);
    const checks = await checkUntilReady(plan, wait, print);
    const isFine = !checks.findings.some(({ outcome }) => outcome === "wrong");
    if (isFine && !check) return bringUp(plan, values, checks, print);
    if (checks.missing.length > 0 && !wait) print(`\n${renderRecords(checks.missing, plan.own)}`);
    if (json) {
      const result = { findings: checks.findings, missing_records: checks.missing, ready: false };
      process.stdout.write(`${JSON.stringify(result)}\n`);
    } else if (!isFine) print(renderAdvice(checks, check));
    return isFine ? exitCodes.fine : exitCodes.unexpected;
  },
});

/** With `isWaiting`, looks the names up until no DNS record is missing, and then runs all checks again. */
async function checkUntilReady(plan: UpPlan, isWaiting: boolean, print: (line: string) => void): Promise<UpChecks> {
  const shown = new Set<string>();
  for (;;) {
    const checks = await runChecks(plan, Date.now());
    const lines = checks.findings.map(lineOf).filter((line) => !shown.has(line));
    for (const line of lines) {
      print(line);
      shown.add(line);
    }
    if (!isWaiting || checks.missing.length === 0) return checks;
    print(`\n${renderRecords(checks.missing, plan.own)}\nWaiting for the records. Press Ctrl+C to stop.`);
    let { missing } = checks;
    while (missing.length > 0) {
      await sleep(waitMs);
      ({ missing } = await checkNames(plan, plan.own, plan.resolve));
    }
  }
}

function renderAdvice({ missing }: UpChecks, isCheck: boolean): string {
  const unchanged = isCheck ? "" : " Nothing was changed.";
  return missing.length > 0
    ? `Add the DNS records, then run the command again. With --wait, the command continues when they exist.${unchanged}`
    : `\nCorrect what is marked with ✗, then run the command again.${unchanged}`;
}
