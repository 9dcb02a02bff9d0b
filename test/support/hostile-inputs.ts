/**
 * Sends nearly valid inputs for each protocol to the busy edge, and measures the CPU time of each: `node
 * test/support/hostile-inputs.ts [--inputs N] [--seed N] [--family NAME] [--part families|growth]`. Prints a JSON line
 * for each input that throws outside its visitor or costs too much, one before each input, and one for each family.
 * Then it sends inputs that grow, each twice as large as the one before, and prints one line for each kind of growth.
 * The same seed sends the same inputs.
 */
import { parseArgs } from "node:util";
import { startBusyEdge } from "./busy-edge.ts";
import { growingInputs } from "./growing-inputs.ts";
import { hostileFamilies } from "./hostile-families.ts";
import type { Family } from "./hostile-families.ts";
import { mutate } from "./mutations.ts";
import { seededRandom } from "./random.ts";

const { values } = parseArgs({
  options: {
    inputs: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
    family: { type: "string" },
    part: { type: "string", default: "families,growth" },
  },
});

/**
 * Maximum cost of an input, as a multiple of an ordinary input of its family. The limit is at least this many
 * microseconds.
 */
const timesOrdinary = 4;
const leastPerInputUs = 10_000;
/** Maximum cost of an input whose work is bounded by a step budget, microseconds. */
const budgetedUs = 40_000;
/** Maximum additional cost per byte, including the client's own work, microseconds. */
const perByteUs = 20;
/** Number of repeats for an input that seems too expensive. The smallest time counts. */
const repeats = 4;
/** Maximum cost of an input of twice the size, as a multiple. */
const mostGrowth = 2.6;
/** Smaller differences are noise, microseconds. */
const noiseUs = 15_000;
/** Number of measurements if the cost seems to grow too fast. */
const growthAttempts = 3;

const escaped: string[] = [];
process.on("uncaughtException", (error) => escaped.push(error.stack ?? String(error)));
process.on("unhandledRejection", (error) => escaped.push(error instanceof Error ? (error.stack ?? "") : String(error)));

const print = (line: object): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);
const isWanted = (name: string): boolean => values.family === undefined || values.family === name;

const busy = await startBusyEdge();
await busy.ready();
if (values.part.includes("families"))
  for (const [name, family] of Object.entries(await hostileFamilies(busy)))
    if (isWanted(name)) await sendAll(name, family);
if (values.part.includes("growth"))
  for (const [name, send] of Object.entries(growingInputs(busy))) if (isWanted(name)) await grow(name, send);
await busy.ready();
print({ alive: true, escaped: escaped.length });
process.exit(0);

async function sendAll(name: string, family: Family): Promise<void> {
  const random = seededRandom(Number(values.seed));
  const perInputUs = await boundOf(family);
  let bytesSent = 0;
  let worst = { usPerByte: 0, bytes: 0 };
  let faults = 0;
  for (let count = 0; count < Number(values.inputs); count += 1) {
    const input = family.make?.(random) ?? mutate(random.pick(family.seeds), family.seeds, random);
    print({ sends: count, of: name });
    const costUs = await costOf(() => family.send(input), perInputUs + perByteUs * input.length);
    bytesSent += input.length;
    const usPerByte = Math.max(0, costUs - perInputUs) / Math.max(1, input.length);
    if (usPerByte > worst.usPerByte) worst = { usPerByte: Math.round(usPerByte), bytes: input.length };
    if (escaped.length === 0 && usPerByte <= perByteUs) continue;
    faults += 1;
    print({ family: name, usPerByte, costUs, escaped: escaped.splice(0), input: input.toString("base64") });
  }
  print({ family: name, inputs: Number(values.inputs), perInputUs, bytesSent, worst, faults });
}

/** Returns the maximum cost of an input of the family, whatever its length: several times the cost of its seeds. */
async function boundOf({ seeds, send, isBudgeted }: Family): Promise<number> {
  if (isBudgeted === true) return budgetedUs;
  const [seed = Buffer.from("a")] = seeds;
  return Math.max(leastPerInputUs, timesOrdinary * (await costOf(() => send(seed), 0)));
}

/** Sends an empty input, an input and one of twice its size, and compares their costs beyond the first. */
async function grow(name: string, send: (share: number) => Promise<void>): Promise<void> {
  print({ grows: name });
  let line = { usOnce: 0, usTwice: 0, growth: Infinity };
  for (let attempt = 0; attempt < growthAttempts && line.growth > mostGrowth; attempt += 1) {
    const none = await costOf(() => send(0), 0, 1);
    const usOnce = (await costOf(() => send(0.5), 0, 1)) - none;
    const usTwice = (await costOf(() => send(1), 0, 1)) - none;
    line = { usOnce, usTwice, growth: Math.max(usTwice, noiseUs) / Math.max(usOnce, noiseUs) };
  }
  const isHarmless = line.growth <= mostGrowth && escaped.length === 0;
  print({ grows: name, ...line, ...(!isHarmless && { escaped: escaped.splice(0), input: name }) });
}

/** Returns the CPU time of the whole process for an input, microseconds: the minimum of several attempts. */
async function costOf(send: () => Promise<void>, enough: number, again = repeats): Promise<number> {
  let least = Infinity;
  for (let times = 0; times <= again; times += 1) {
    const before = process.cpuUsage();
    await send();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, user + system);
    if (least <= enough) break;
  }
  return least;
}
