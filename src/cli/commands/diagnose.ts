import { systemClock } from "../../lib/clock.ts";
import { accessSettings, agentAccess } from "../agent/agent-access.ts";
import { defineCommand } from "../command/command.ts";
import { checkAgentLine } from "../doctor/agent-line.ts";
import { printFindings } from "../doctor/finding.ts";
import { exitCodes } from "../process/exit.ts";
import { settings } from "../../settings/settings.ts";

export const diagnose = defineCommand({
  name: "diagnose",
  doc: "Test the connection from this machine to the server step by step: proxy, name, connection, TLS, certificate, clock, protocol, latency. Exits with code 4 if a step fails, and with 3 if the server rejects the token.",
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
