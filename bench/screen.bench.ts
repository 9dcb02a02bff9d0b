/** Cost of the agent's screen at 200 requests a second, compared with the same agent without a screen. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startAgent, startServer, startService } from "./support/postern.ts";
import { median, sideBySide, table } from "./support/report.ts";
import { cpuMicros, stop } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";

const seconds = 10;
const connections = 20;
/**
 * Pause between two requests of a connection, milliseconds. All connections together send 200 requests a second, less
 * the response times.
 */
const pauseMs = 80;
/** In percent of one core. */
const metric = "agent CPU %";
const plain = "no terminal";
const shown = "on a terminal";
const atMostPercent = 2;

const script = join(mkdtempSync(join(tmpdir(), "postern-screen-")), "paced.lua");
writeFileSync(script, `function delay() return ${pauseMs} end\n`);
const service = await startService();
const server = await startServer();
const contenders = await Promise.all(
  [plain, shown].map(async (name, at) => {
    // Both agents capture traffic, as an agent on a terminal does by default.
    const agent = await startAgent(
      server,
      service.port,
      `screen${at}`,
      server.agentPort,
      ["--inspector", "0"],
      at === 1,
    );
    const url = `https://screen${at}.localhost:${server.httpsPort}/`;
    await wrk(url, { connections, seconds: 2, script });
    return {
      name,
      agent,
      async measure() {
        const before = cpuMicros(agent.pid as number);
        const { perSecond } = await wrk(url, { connections, seconds, script });
        const percent = (cpuMicros(agent.pid as number) - before) / 10_000 / seconds;
        return { [metric]: percent, "requests/s": perSecond };
      },
    };
  }),
);
const samples = await sideBySide(contenders, 3);
table("1 KiB through an agent, 200 requests a second", samples);
const cpu = (name: string): number => median((samples.get(name) ?? []).map((row) => row[metric] as number));
const cost = cpu(shown) - cpu(plain);
process.stdout.write(`the screen costs ${cost.toFixed(2)} % of a core (at most ${atMostPercent})\n`);
if (cost > atMostPercent) process.exitCode = 1;
for (const { agent } of contenders) await stop(agent);
await stop(service.child);
await server.stop();
