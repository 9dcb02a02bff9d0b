import { callAgent, localSettings } from "../agent/local-client.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";
import { columnsOf, renderHead, renderRow } from "../terminal/text-table.ts";

interface Tunnel {
  readonly name: string;
  readonly public_url: string;
  readonly config: { readonly addr: string };
  readonly metrics: {
    readonly conns: { readonly count: number; readonly gauge: number };
    readonly http: { readonly count: number };
  };
}

export const agentTunnels = defineCommand({
  name: "agent tunnels",
  doc: "List the tunnels of the local agent.",
  operands: "",
  least: 0,
  most: 0,
  settings: localSettings,
  examples: ["postern agent tunnels", "postern agent tunnels --json"],
  async run({ inspector, json }) {
    const answer = await callAgent(inspector, "GET", "/api/tunnels");
    const rows = (answer as unknown as { readonly tunnels: readonly Tunnel[] }).tunnels.map(
      ({ name, public_url: url, config, metrics }) => ({
        name,
        url,
        service: config.addr,
        open: metrics.conns.gauge,
        connections: metrics.conns.count,
        requests: metrics.http.count,
      }),
    );
    if (json) process.stdout.write(`${JSON.stringify(answer)}\n`);
    else if (rows.length === 0) process.stdout.write("No tunnels.\n");
    else {
      const columns = columnsOf(rows, process.stdout.isTTY ? process.stdout.columns : undefined);
      const lines = [renderHead(columns), ...rows.map((row) => renderRow(row, columns))];
      process.stdout.write(`${lines.join("\n")}\n`);
    }
    return exitCodes.fine;
  },
});
