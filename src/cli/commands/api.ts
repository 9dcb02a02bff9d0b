/**
 * `postern api RESOURCE VERB [ID …]`: one command per operation, generated from the description of the API, and single
 * requests.
 */
import type { Listing, Operation } from "../../../sdk/src/index.ts";
import { apiFailure, openApi } from "../api/api-client.ts";
import type { apiSettings } from "../api/api-client.ts";
import type { Command } from "../command/command.ts";
import { Failure, exitCodes } from "../process/exit.ts";
import { findNearest } from "../../lib/nearest.ts";
import { countKind } from "../../settings/kinds/number.ts";
import { namedText, text } from "../../settings/kinds/text.ts";
import { flagOf, flagOnly, optional, toggle } from "../../settings/setting.ts";
import type { Setting, Settings, ValuesOf } from "../../settings/setting.ts";
import { toCamelCase, describeOperation, resourceVerbs } from "../api/packed-description.ts";
import type { DescribedOperation } from "../api/packed-description.ts";
import { readBody } from "../api/request-body.ts";
import { bodyOf, fieldOptions } from "../api/field-options.ts";
import { printAnswer, printList } from "../api/print-answer.ts";
import { sharedSettings, writeOptions, writeSettings } from "../api/write-settings.ts";
import { isMethod, requestCommand } from "./api-request.ts";

const limit = flagOnly(optional("Maximum objects to list (default: all).", countKind("NUMBER", 0)));
const sent = flagOnly(
  optional(
    "Body to send: JSON, @FILE (JSON, or YAML by its name) or @- for standard input. Options override its fields.",
    namedText("JSON|@FILE"),
    {
      flag: "data",
    },
  ),
);

/** Returns the command for `args`: an operation, or a list of the available ones. */
export function apiCommand(args: readonly string[]): Command {
  const words = args.findIndex((one) => one.startsWith("-"));
  const [first = "", second] = words < 0 ? args : args.slice(0, words);
  if (isMethod(first)) return requestCommand(first) as Command;
  const resources = resourceVerbs();
  const root = resources.get("")?.find(({ verb }) => verb === first);
  if (root) return operationCommand(root, 1);
  const verbs = first === "" ? undefined : resources.get(first);
  if (!verbs) return makeOverview(first, resources);
  const operation = verbs.find(({ verb }) => verb === second);
  return operation ? operationCommand(operation, 2) : resourceOverview(first, second, verbs);
}

/** Words after `postern api`. */
export function wordsOf({ group, verb }: Operation): string {
  return group.length === 0 ? verb : `${group.join("/")} ${verb}`;
}

function operationCommand(found: Operation, taken: number): Command {
  const operation = describeOperation(found);
  const own = ownSettings(operation);
  const flags = new Set(Object.entries(own).map(([name, setting]) => flagOf(name, setting).slice(2)));
  const fields = fieldOptions(operation, flags);
  const fieldSettings = Object.fromEntries(fields.map(({ path, setting }) => [fieldKey(path), setting]));
  const ids = operation.ids.map((id) => id.toUpperCase());
  return {
    name: `api ${wordsOf(operation)}`,
    doc: [operation.summary, operation.doc].filter(Boolean).join(" "),
    operands: ids.join(" "),
    least: ids.length,
    most: ids.length,
    taken,
    settings: { ...fieldSettings, ...own },
    async run(values: Readonly<Record<string, unknown>>, operands: readonly string[]) {
      // An empty id or a path segment such as `..` would address a different resource.
      const wrong = operation.ids.find((_, at) => /^\.{0,2}$/.test(operands[at] ?? ""));
      if (wrong !== undefined) throw new Failure("usage", `${wrong.toUpperCase()} must be an id`);
      const given = fields.flatMap(({ path }) => {
        const value = values[fieldKey(path)];
        return value === undefined ? [] : [[path, value] as const];
      });
      const body = bodyOf(await readBody(values["sent"] as string | undefined), given);
      const postern = await openApi(values as ValuesOf<typeof apiSettings>);
      const query = Object.fromEntries((operation.query ?? []).map((name) => [name, values[queryKey(name)]]));
      const options = { ...query, ...writeOptions(values) };
      const answer = (): unknown =>
        methodOf(postern, operation)(...operands, ...(operation.takesBody ? [body] : []), options);
      const json = values["json"] === true;
      try {
        if (operation.answers === "list") {
          const most = (values["limit"] as number | undefined) ?? Number.POSITIVE_INFINITY;
          options["limit"] = Math.min(100, most);
          await printList(answer() as Listing<Readonly<Record<string, unknown>>>, most, json);
        } else {
          printAnswer(operation.id, await answer(), json);
        }
      } catch (error) {
        throw apiFailure(error);
      }
      return exitCodes.fine;
    },
  } as Command;
}

function ownSettings(operation: DescribedOperation): Settings {
  const own: Record<string, Setting<unknown>> = {};
  if (operation.takesBody) own["sent"] = sent;
  for (const name of operation.query ?? [])
    own[queryKey(name)] = name === "limit" ? limit : queryOption(operation, name);
  if (operation.method !== "GET") {
    if (operation.method !== "POST") own["ifMatch"] = writeSettings.ifMatch;
    if (operation.verb === "create") own["idempotencyKey"] = writeSettings.idempotencyKey;
    own["wait"] = writeSettings.wait;
    own["reason"] = writeSettings.reason;
  }
  return { ...own, ...sharedSettings };
}

function queryOption({ queryDocs, switches }: DescribedOperation, name: string): Setting<unknown> {
  const flag = name.replaceAll("_", "-");
  const doc = queryDocs[name] ?? "";
  return switches.has(name) ? flagOnly({ ...toggle(doc), flag }) : flagOnly(optional(doc, text, { flag }));
}

/** Prefixes fields and query parameters to separate them from the command's own settings. */
function fieldKey(path: readonly string[]): string {
  return `field:${path.join(".")}`;
}

function queryKey(name: string): string {
  return name === "limit" ? "limit" : `query:${name}`;
}

type Method = (...args: readonly unknown[]) => unknown;

function methodOf(postern: unknown, { group, verb }: Operation): Method {
  let place = postern;
  for (const word of [...group, verb]) place = (place as Record<string, unknown>)[toCamelCase(word)];
  return place as Method;
}

const grammar =
  "Call one operation of the API. RESOURCE is the path without ids, such as `ip_policies` or `edges/https/routes/backend`. After it come a verb, the ids in the order of the path, and the fields as options. METHOD PATH [JSON] sends one request as written in the API reference.";

const examples = [
  "postern api ip_policies list --limit 5",
  "postern api ip_policies create --description office",
  "postern api edges/https create --hostports shop.example.com:443 --data @edge.json",
  "postern api edges/https/routes update EDGE_ID ID --backend.backend-id BACKEND_ID",
  "postern api edges/https/routes/compression delete EDGE_ID ID",
  "postern api ip_policies get ID --json",
  `postern api POST /ip_policies '{"description":"office"}'`,
];

/** Returns the list of resources and operations for `--help`. Anything else is refused. */
function makeOverview(name: string, resources: ReadonlyMap<string, readonly Operation[]>): Command {
  const column = Math.max(...[...resources.keys()].map((name) => name.length)) + 3;
  const rows = [...resources].map(([name, operations]) => {
    const verbs = operations.map(({ verb }) => verb).join(" ");
    return name === "" ? `  ${verbs}` : `  ${name.padEnd(column)}${verbs}`;
  });
  const roots = resources.get("")?.map(({ verb }) => verb) ?? [];
  const refusal =
    name === ""
      ? "`postern api` takes RESOURCE VERB [ID …], see `postern api --help`"
      : `unknown resource "${name}"${suggestName(name, [...resources.keys(), ...roots])}, \`postern api --help\` lists all resources`;
  return makeListing("api", grammar, "RESOURCE VERB [ID …]", ["Resources and their verbs:", ...rows], refusal, 0);
}

function resourceOverview(resource: string, name: string | undefined, operations: readonly Operation[]): Command {
  const described = operations.map(describeOperation);
  const column = Math.max(...described.map(({ verb, ids }) => [verb, ...ids].join(" ").length)) + 3;
  const rows = described.map(
    ({ verb, ids, summary }) => `  ${[verb, ...ids.map((id) => id.toUpperCase())].join(" ").padEnd(column)}${summary}`,
  );
  const verbs = operations.map(({ verb }) => verb);
  const lacks = name === undefined ? "needs a verb" : `has no verb "${name}"${suggestName(name, verbs)}`;
  const refusal = `${resource} ${lacks}: ${verbs.join(", ")}`;
  return makeListing(`api ${resource}`, described[0]?.doc ?? "", "VERB [ID …]", ["Verbs:", ...rows], refusal, 1);
}

function suggestName(name: string, known: readonly string[]): string {
  const near = findNearest(name, known);
  return near === undefined ? "" : ` (did you mean "${near}"?)`;
}

function makeListing(
  name: string,
  doc: string,
  operands: string,
  notes: readonly string[],
  refusal: string,
  taken: number,
): Command {
  return {
    name,
    doc,
    operands,
    least: 0,
    most: Number.POSITIVE_INFINITY,
    taken,
    settings: sharedSettings,
    notes: [...notes, "", "Run `postern api RESOURCE VERB --help` for all options of a verb."],
    examples,
    run() {
      throw new Failure("usage", refusal);
    },
  } as Command;
}
