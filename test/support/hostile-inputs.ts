/**
 * Sends inputs that almost follow each protocol to the busy edge, and measures what each costs in processor time:
 * `node test/support/hostile-inputs.ts [--inputs N] [--seed N] [--family NAME] [--part families|growth]`. Prints a JSON line for each input that
 * throws out of its visitor or costs more than it may, one before each input, and one for each family. Then it sends
 * inputs that grow, twice as large each, and prints one line for each kind of growth. The same seed sends the same inputs.
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

/** An input may cost so many times what an ordinary one of its family costs; and at least so much, microseconds. */
const timesOrdinary = 4;
const leastPerInputUs = 10_000;
/** What an input may cost whose work is bounded by a budget of steps instead. */
const budgetedUs = 40_000;
/** What a byte may cost beyond that, with the client's own work; microseconds. */
const perByteUs = 20;
/** An input that seems too dear is sent so often again: the cheapest time counts. */
const repeats = 4;
/** An input of twice the size may cost so many times as much. */
const mostGrowth = 2.6;
/** Differences that are smaller are noise; microseconds. */
const noiseUs = 15_000;
/** What seems to grow too fast is measured so often. */
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

/** What an input of the family may cost, whatever its length: several times what its seeds cost. */
async function boundOf({ seeds, send, isBudgeted }: Family): Promise<number> {
  if (isBudgeted === true) return budgetedUs;
  const [seed = Buffer.from("a")] = seeds;
  return Math.max(leastPerInputUs, timesOrdinary * (await costOf(() => send(seed), 0)));
}

/** Sends nothing, an input and one of twice its size, and compares what they cost beyond the first. */
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

/** Processor time of the whole process while an input is dealt with, microseconds: of several times the least. */
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
