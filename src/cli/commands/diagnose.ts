import { systemClock } from "../../lib/clock.ts";
import { accessSettings, agentAccess } from "../agent/agent-access.ts";
import { defineCommand } from "../command/command.ts";
import { checkAgentLine } from "../doctor/agent-line.ts";
import { printFindings } from "../doctor/finding.ts";
import { exitCodes } from "../process/exit.ts";
import { settings } from "../../settings/settings.ts";

export const diagnose = defineCommand({
  name: "diagnose",
  doc: "Check the line from here to the server, step by step: proxy, name, connection, TLS, certificate, clock, protocol, latency. Exits with 4 where it ends before the server, and with 3 when the server refuses the token.",
  operands: "",
  least: 0,
  most: 0,
  settings: { ...accessSettings, json: settings.json },
  examples: ["postern diagnose", "postern diagnose --server t.example.com:4443 --ca ca.pem"],
  async run({ json, ...values }) {
    const findings = await checkAgentLine({ ...agentAccess(values), clock: systemClock });
    printFindings(findings, json);
    const fault = findings.find(({ outcome }) => outcome === "wrong");
    if (!fault) return exitCodes.fine;
    return fault.about === "token" ? exitCodes.credentials : exitCodes.unreachable;
  },
});
