/** `docs/reference/errors.md`: the catalogue as a table, then a section for each code with cause, evidence and fix. */
import { agentErrors } from "../../src/lib/errors/agents.ts";
import { apiErrors } from "../../src/lib/errors/api.ts";
import { commandErrors } from "../../src/lib/errors/commands.ts";
import { configurationErrors } from "../../src/lib/errors/configuration.ts";
import type { CatalogueEntry } from "../../src/lib/errors/entry.ts";
import { localApiErrors } from "../../src/lib/errors/local-api.ts";
import { loginErrors } from "../../src/lib/errors/logins.ts";
import { policyActionErrors } from "../../src/lib/errors/policy-actions.ts";
import { policyErrors } from "../../src/lib/errors/policies.ts";
import { trafficErrors } from "../../src/lib/errors/traffic.ts";
import { toCode, renderPage, renderTable } from "./markdown.ts";

interface Group {
  readonly title: string;
  readonly entries: Readonly<Record<string, CatalogueEntry>>;
  /** Where the reader finds details about one occurrence. */
  readonly see: string;
}

const apiEvidence =
  "Read `msg` and `details` in the response body. Search the server's log for the `operation_id` in `details`.";
const trace =
  "Run `npx postern api GET /requests/REQUEST_ID` with the `X-Request-Id` of the response. The trace shows each decision.";

const groups: readonly Group[] = [
  { title: "Management API", entries: apiErrors, see: apiEvidence },
  { title: "Configuration", entries: configurationErrors, see: apiEvidence },
  {
    title: "Agents",
    entries: agentErrors,
    see: "Read the agent's log, or `details` if the API returned the code. `npx postern diagnose` checks the connection to the server.",
  },
  { title: "Traffic", entries: trafficErrors, see: trace },
  { title: "Logins", entries: loginErrors, see: trace },
  {
    title: "Traffic policies",
    entries: policyErrors,
    see: "Run `npx postern policy check FILE`. If a visitor received the code, look up the request's trace.",
  },
  { title: "Actions of traffic policies", entries: policyActionErrors, see: trace },
  {
    title: "The agent's local API",
    entries: localApiErrors,
    see: "Read `msg` in the response body and the agent's log.",
  },
  {
    title: "Commands",
    entries: commandErrors,
    see: "Read the sentence on stderr. With `--json` the command prints the code, the exit code and the fix as JSON.",
  },
];

/** Error pages for visitors: sections of the troubleshooting guide, by status. */
const symptoms: Readonly<Record<number, string>> = {
  401: "fix-401-and-403-errors",
  403: "fix-401-and-403-errors",
  404: "fix-404-errors",
  421: "fix-421-errors",
  502: "fix-502-errors",
  503: "fix-503-errors",
  504: "fix-504-errors",
};

export function errorsPage(): string {
  const introduction = [
    "Every error code of Postern, with its cause and fix. A response for a visitor has the code in the header `Postern-Error-Code`.",
    "A response of the API has it in `error_code`. Codes are never reused.",
    "[Troubleshooting](../guides/troubleshooting.md) starts from symptoms instead.",
  ].join(" ");
  return renderPage("Errors", introduction, ["## All codes\n\n", renderOverview(), ...groups.map(groupSection)]);
}

function renderOverview(): string {
  const rows = groups
    .flatMap(({ entries }) => Object.entries(entries))
    .sort(([, a], [, b]) => a.number - b.number)
    .map(([name, { number, status, what }]) => [
      `[${toCode(publicCode(number))}](#${publicCode(number).toLowerCase()})`,
      String(status),
      toCode(name),
      what,
    ]);
  return renderTable(["Code", "Status", "Name", "What happened"], rows);
}

function groupSection({ title, entries, see }: Group): string {
  const sections = Object.entries(entries)
    .sort(([, a], [, b]) => a.number - b.number)
    .map(([name, { number, status, what, fix }]) => {
      const symptom = title === "Traffic" ? symptoms[status] : undefined;
      const lines = [
        `- **Name and status**: ${toCode(name)}, ${status}`,
        `- **Cause**: ${what}`,
        `- **How to see it**: ${see}`,
        `- **Fix**: ${fix}`,
        ...(symptom === undefined
          ? []
          : [`- **See also**: [Fix ${status} errors](../guides/troubleshooting.md#${symptom})`]),
      ];
      return `### ${publicCode(number)}\n\n${lines.join("\n")}\n\n`;
    });
  return `## ${title}\n\n${sections.join("")}`;
}

function publicCode(number: number): string {
  return `ERR_POSTERN_${number}`;
}
