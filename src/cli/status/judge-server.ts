/** Judges the state of a server: one line per subject, and whether the operator must act. */
import type { ServerState } from "./collect.ts";
import { dayMs } from "../../lib/durations.ts";

export type Level = "fine" | "warning" | "critical";

export interface Check {
  readonly about: string;
  readonly level: Level;
  readonly message: string;
}

/** Certificates are renewed a month before they expire, so fewer days indicate failed attempts. */
const warningDays = 21;
const criticalDays = 7;
const warningShare = 0.15;
const criticalShare = 0.05;

export function judgeServer(state: ServerState, now: number): readonly Check[] {
  const { notReady, noWrites, edges, agents, endpoints, most } = state;
  const count = (number: number, what: string): string =>
    `${number >= most ? `${most} or more` : number} ${what}${number === 1 ? "" : "s"}`;
  return [
    notReady === undefined
      ? { about: "server", level: "fine", message: "accepts traffic" }
      : { about: "server", level: "critical", message: notReady },
    ...judgeNodes(state),
    ...(edges === undefined ? [] : [edgesLine(edges)]),
    noWrites === undefined
      ? { about: "database", level: "fine", message: "accepts writes" }
      : { about: "database", level: "critical", message: noWrites },
    ...judgeCertificates(state, now),
    { about: "agents", level: "fine", message: `${count(agents, "agent")}, ${count(endpoints, "public URL")}` },
    ...judgeProblems(state),
    ...judgeDisk(state),
    judgeLastError(state),
  ];
}

/** Returns the highest level. */
export function worstLevel(checks: readonly Check[]): Level {
  return (["critical", "warning"] as const).find((level) => checks.some((one) => one.level === level)) ?? "fine";
}

function edgesLine(edges: number): Check {
  return { about: "edges", level: edges === 0 ? "critical" : "fine", message: `${edges} connected` };
}

function judgeNodes({ nodes: all }: ServerState): Check[] {
  if (!all) return [{ about: "nodes", level: "fine", message: "unknown: only an operator's key can list them" }];
  const lost = all.filter(({ lease }) => lease === "over");
  const revisions = new Set(all.filter((one) => !lost.includes(one)).map((one) => one.configuration_revision));
  const told = `${all.length} running, version ${[...new Set(all.map(({ version }) => version))].join(", ")}`;
  const spread = revisions.size > 1 ? `, at revisions ${[...revisions].join(", ")}` : "";
  return [
    { about: "nodes", level: "fine", message: told + spread },
    ...lost.map(({ api_url: url }): Check => ({ about: "nodes", level: "warning", message: `${url} is disconnected` })),
  ];
}

function judgeCertificates({ certificates: all, domains, most }: ServerState, now: number): Check[] {
  const about = "certificates";
  const left = all.map((one) => ({
    name: one.subject_alternative_names.dns_names[0] ?? one.subject_common_name,
    days: Math.floor((Date.parse(one.not_after ?? "") - now) / dayMs),
  }));
  const due = left.filter(({ days }) => days < warningDays).toSorted((one, other) => one.days - other.days);
  const [next] = left.toSorted((one, other) => one.days - other.days);
  const counted = `${all.length >= most ? `${most} or more` : all.length} stored`;
  const summary = next === undefined ? counted : `${counted}, the next expires in ${next.days} days (${next.name})`;
  return [
    { about, level: "fine", message: summary },
    ...due.map(({ name, days }): Check => ({
      about,
      level: days < criticalDays ? "critical" : "warning",
      message: days < 0 ? `${name} has expired` : `${name} expires in ${days} days`,
    })),
    ...domains.flatMap(({ domain, certificate_management_status: status }): Check[] => {
      const { error_code: code = null, msg = "" } = status?.provisioning_job ?? {};
      return code === null ? [] : [{ about, level: "warning", message: `${domain}: ${msg} (${code})` }];
    }),
  ];
}

function judgeProblems({ problems: all }: ServerState): Check[] {
  if (all.length === 0) return [{ about: "problems", level: "fine", message: "none" }];
  return all.map(({ kind, id, module, message }) => ({
    about: "problems",
    level: "critical",
    message: `${kind} ${id}${module === null ? "" : `, ${module}`}: ${message}`,
  }));
}

function judgeDisk({ disk: found }: ServerState): Check[] {
  if (!found || found.totalBytes === 0) return [];
  const share = found.freeBytes / found.totalBytes;
  const level = share < criticalShare ? "critical" : share < warningShare ? "warning" : "fine";
  const gigabytes = (found.freeBytes / 1e9).toFixed(1);
  return [
    { about: "disk", level, message: `${gigabytes} GB free (${Math.floor(share * 100)} %) for the data directory` },
  ];
}

function judgeLastError({ lastFailure: last }: ServerState): Check {
  if (!last) return { about: "last error", level: "fine", message: "no failed request" };
  const why = last.steps.at(-1)?.reason ?? String(last.status_code);
  return {
    about: "last error",
    level: "fine",
    message: `${last.ended_at} ${last.method} ${last.host}${last.path}: ${why}`,
  };
}
