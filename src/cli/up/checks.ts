/** Checks that `postern up` runs before it changes anything. */
import type { Finding } from "../doctor/finding.ts";
import { checkAuthority } from "./check-authority.ts";
import { checkClock, checkDisk, checkDurableWrites, checkOpenFiles } from "./machine-checks.ts";
import { checkNames } from "./name-checks.ts";
import type { NameCheck } from "./name-checks.ts";
import type { UpPlan } from "./up-plan.ts";
import { checkPort } from "./port-checks.ts";
import type { NeededPort } from "./port-checks.ts";

export interface UpChecks extends NameCheck {
  /** Address of the certificate authority's terms of service. */
  readonly terms?: string;
}

export async function runChecks(plan: UpPlan, now: number): Promise<UpChecks> {
  const { https, http, agents, isService } = plan;
  const needed: NeededPort[] = [
    { purpose: "HTTPS", address: https },
    ...(http ? [{ purpose: "HTTP", address: http }] : []),
    { purpose: "agents", address: agents },
  ];
  const [names, authority, ports] = await Promise.all([
    checkNames(plan, plan.own, plan.resolve),
    checkAuthority(plan.acmeDirectory, plan.acmeCa),
    Promise.all(needed.map((port) => checkPort(port, isService))),
  ]);
  // systemd raises the limit for a service.
  const openFiles = isService ? undefined : checkOpenFiles();
  const machine: Finding[] = [
    ...(authority.date === undefined ? [] : [checkClock(authority.date, now)]),
    checkDisk(plan.data),
    checkDurableWrites(plan.data),
    ...(openFiles ? [openFiles] : []),
  ];
  return {
    findings: [...names.findings, ...ports, ...machine, authority.finding],
    missing: names.missing,
    ...(authority.terms !== undefined && { terms: authority.terms }),
  };
}
