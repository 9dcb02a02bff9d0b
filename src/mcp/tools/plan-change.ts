import { Refusal } from "../../lib/errors.ts";
import type { JsonObject } from "../../lib/json.ts";
import { encodePath } from "../parts/api-path.ts";
import type { Api } from "../parts/api-path.ts";
import { changeLines, countsOf } from "../parts/change-lines.ts";
import { quoteValue } from "../parts/quote-value.ts";
import { ToolError } from "../parts/tool.ts";
import type { Tool, ToolContext } from "../parts/tool.ts";

export const planChange: Tool = {
  name: "plan_change",
  title: "Plan a change",
  description:
    'Show what a change would do, without making it: the changes in words, the hash of the plan, and how captured requests would be decided differently. The document names objects by kind and name, such as {"objects": {"ip_policy": {"office": {"description": "The office"}}}}. Only objects in the document change, unless "prune" is true. An "id" in an object takes over an existing object. Read the page guides/plan-and-apply.md with read_docs first.',
  input: {
    document: {
      type: "object",
      description: 'The desired objects: {"document"?: NAME, "prune"?: BOOLEAN, "objects": {KIND: {NAME: FIELDS}}}.',
    },
  },
  required: ["document"],
  async run(input, context) {
    const { api, plans, keyId } = context;
    const document = documentOf(input);
    const plan = await api({ method: "POST", path: "/plan", body: document, withRightsOfKey: true });
    await plans.keep(keyId, plan.hash, { document });
    const { summary, changes, warnings } = plan;
    return [
      `Plan ${plan.hash}: ${countsOf(summary)}. Nothing was changed.`,
      ...changeLines(changes),
      ...(warnings as readonly Warning[])
        .slice(0, 10)
        .map((one) => `Warning: ${one.kind} ${one.path}: ${quoteValue(one.message)}`),
      isEmpty(summary) ? "There is nothing to apply." : await backtestDocument(document, context),
      ...(isEmpty(summary) ? [] : [explainHowToApply(plan.hash)]),
    ].join("\n");
  },
};

interface Warning {
  readonly kind: string;
  readonly path: string;
  readonly message: string;
}

export function documentOf(input: JsonObject): JsonObject {
  const document = input["document"];
  if (typeof document === "object" && document !== null && !Array.isArray(document)) return document as JsonObject;
  throw new ToolError('The argument "document" must be an object with "objects".');
}

export function isEmpty({ create, update, delete: gone }: Readonly<Record<string, number>>): boolean {
  return create === 0 && update === 0 && gone === 0;
}

export function explainHowToApply(hash: string): string {
  return `Show these changes to the person who asked for them. To make exactly these changes, call apply_plan with the plan ${hash}. The plan expires after 15 minutes.`;
}

const pollMs = 100;
/** Number of polls: a backtest that takes longer than five seconds is reported as far as it is. */
const maxPolls = 50;

const names: Readonly<Record<string, string>> = {
  allowed_to_denied: "newly denied",
  denied_to_allowed: "newly allowed",
  other_route: "another route",
  other_backend: "another backend",
  other_status: "another status",
  other_headers: "other header fields",
};

/** Tries the document on the captured requests of the last 24 hours. */
async function backtestDocument(document: JsonObject, { api, pause }: ToolContext): Promise<string> {
  try {
    let found = await api({ method: "POST", path: "/backtests", body: { document }, withRightsOfKey: true });
    const at = encodePath`/backtests/${found.id}`;
    for (let poll = 0; found.status === "running" && poll < maxPolls; poll += 1) {
      await pause(pollMs);
      found = await api({ method: "GET", path: at, withRightsOfKey: true });
    }
    if (found.status === "running") await cancelBacktest(api, at);
    return summaryOf(found);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return `No backtest: ${error.message} (${error.code}).`;
  }
}

async function cancelBacktest(api: Api, at: string): Promise<void> {
  await api({ method: "DELETE", path: at, withRightsOfKey: true });
}

interface Backtest {
  readonly status: string;
  readonly error: string | null;
  readonly tried: number;
  readonly same: number;
  readonly unknown: number;
  readonly differences: Readonly<Record<string, number>>;
}

function summaryOf({ status, error, tried, same, unknown, differences }: Backtest): string {
  if (status === "failed") return `No backtest: ${quoteValue(error ?? status)}.`;
  if (tried === 0) return "Backtest: there are no captured requests of the last 24 hours to try.";
  const different = Object.entries(differences).flatMap(([name, count]) =>
    count > 0 ? [`${count} ${names[name] ?? name}`] : [],
  );
  const partly = status === "running" ? " It was stopped after five seconds, so the counts are incomplete." : "";
  return `Backtest with ${tried} captured requests: ${[`${same} the same`, ...different, `${unknown} unknown`].join(", ")}.${partly}`;
}
