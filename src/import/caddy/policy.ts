/** Creates the traffic policy and the routes of a site. */
import type { JsonObject } from "../../lib/json.ts";
import type { Sample } from "./caddy-conditions.ts";
import { everyRequest } from "./site.ts";
import type { ImportedSite, ImportStep } from "./imported-site.ts";

/** A route of an edge. Without a proxy, the policy answers every request. */
export interface EdgeRoute {
  readonly match_type: "exact_path" | "path_prefix";
  readonly match: string;
  readonly proxy: number | undefined;
}

/** Paths that an edge can match. */
const plainPath = /^\/[\w.~/-]*$/;
/** A path that no matcher names. */
const otherName = "postern-import-other-path";

interface Candidate {
  readonly type: EdgeRoute["match_type"];
  readonly path: string;
  readonly sample: string;
}

/** Returns the routes that lead each host and path to the proxy that Caddy selects. */
export function edgeRoutes(site: ImportedSite): EdgeRoute[] {
  const candidates = new Map<string, Candidate>();
  for (const pattern of site.proxies.flatMap(({ paths }) => paths)) {
    for (const one of candidatesOf(pattern)) candidates.set(`${one.type} ${one.path}`, one);
  }
  const ordered = [...candidates.values()].toSorted(
    (a, b) => b.type.localeCompare(a.type) || a.path.length - b.path.length,
  );
  // An edge searches for a path only in the routes of the nearest host, so each host gets a route for every path.
  const hosts = new Set(site.proxies.flatMap((proxy) => proxy.hosts));
  return [undefined, ...hosts].flatMap((host) => routesOf(site, host, ordered));
}

function candidatesOf(pattern: string): Candidate[] {
  const path = pattern.replace(/\*$/, "");
  const prefix = path.replace(/\/$/, "");
  if (!plainPath.test(path) || prefix === "") return [];
  if (path === pattern) return [{ type: "exact_path", path, sample: path }];
  return [
    { type: "path_prefix", path: prefix, sample: `${prefix}/${otherName}` },
    { type: "exact_path", path: prefix, sample: prefix },
  ];
}

/** @param host host of a matcher inside the site; undefined for all other hosts */
function routesOf(site: ImportedSite, host: string | undefined, candidates: readonly Candidate[]): EdgeRoute[] {
  const at = { host: host ?? site.host, path: `/${otherName}` };
  const root: EdgeRoute = { match_type: "path_prefix", match: host ?? "/", proxy: findProxy(site, at) };
  const routes = [root];
  const prefixes = [{ path: "", proxy: root.proxy }];
  for (const { type, path, sample } of candidates) {
    const proxy = findProxy(site, { ...at, path: sample });
    const enclosing = prefixes
      .filter((one) => path === one.path || path.startsWith(`${one.path}/`))
      .toSorted((a, b) => b.path.length - a.path.length)[0];
    if (enclosing?.proxy === proxy) continue;
    routes.push({ match_type: type, match: (host ?? "") + path, proxy });
    if (type === "path_prefix") prefixes.push({ path, proxy });
  }
  return routes;
}

/** Returns the proxy for a request. Conditions on anything except host and path count as false. */
function findProxy(site: ImportedSite, sample: Sample): number | undefined {
  const taken = new Set([everyRequest]);
  const groups = new Set<string>();
  let { path } = sample;
  for (const step of site.steps) {
    switch (step.kind) {
      case "route":
        if (!taken.has(step.parent) || (step.group !== undefined && groups.has(step.group))) break;
        if (step.condition.matches({ ...sample, path }) !== true) break;
        taken.add(step.name);
        if (step.group !== undefined) groups.add(step.group);
        break;
      case "act":
        if (!taken.has(step.route)) break;
        if (step.ends) return undefined;
        path = step.moves?.(path) ?? path;
        break;
      case "proxy":
        if (taken.has(step.route)) return step.proxy;
        break;
      case "end":
        if (taken.has(step.route)) return undefined;
        break;
      default:
    }
  }
  return undefined;
}

export function policyFor(site: ImportedSite, proxy: number | undefined): JsonObject | undefined {
  const request = requestRules(site.steps, proxy);
  const response = site.steps.flatMap((step): JsonObject[] => {
    if (step.kind !== "respond" || (step.proxy !== undefined && step.proxy !== proxy)) return [];
    const { cel } = step.condition;
    return [{ ...(step.proxy === undefined && cel !== "true" && { expressions: [cel] }), actions: step.actions }];
  });
  if (request.length + response.length === 0) return undefined;
  return {
    ...(request.length > 0 && { on_http_request: request }),
    ...(response.length > 0 && { on_http_response: response }),
  };
}

function requestRules(steps: readonly ImportStep[], proxy: number | undefined): JsonObject[] {
  const rules: JsonObject[] = [];
  const variables = new Set<string>();
  const isTaken = (route: string): string[] => (route === everyRequest ? [] : [isSet(route)]);
  /** Whether an earlier rule may have ended the site without a response. */
  let mayHaveEnded = false;
  const open = (): string[] => (mayHaveEnded ? [`vars.ended == ""`] : []);
  const rule = (expressions: readonly string[], actions: readonly JsonObject[]): void => {
    rules.push({ ...(expressions.length > 0 && { expressions }), actions });
  };
  const set = (...names: readonly string[]): JsonObject => {
    for (const name of names) variables.add(name);
    return { type: "set-vars", config: { vars: names.map((name) => ({ [name]: "y" })) } };
  };
  let isDecided = false;
  for (const step of steps) {
    if (isDecided) break;
    switch (step.kind) {
      case "route": {
        const free = step.group === undefined ? [] : [`vars.${step.group} == ""`];
        const condition = step.condition.cel === "true" ? [] : [step.condition.cel];
        const names = step.group === undefined ? [step.name] : [step.name, step.group];
        rule([...open(), ...isTaken(step.parent), ...free, ...condition], [set(...names)]);
        break;
      }
      case "act":
        rule([...open(), ...isTaken(step.route)], step.actions);
        isDecided = step.ends === true && step.route === everyRequest && !mayHaveEnded;
        break;
      case "proxy":
        if (step.proxy !== proxy) rule([...open(), ...isTaken(step.route)], [unreachable]);
        else if (step.route === everyRequest && !mayHaveEnded) isDecided = true;
        else rule([...open(), ...isTaken(step.route)], [set("ended", "forwarded")]);
        mayHaveEnded ||= step.proxy === proxy;
        break;
      case "end":
        rule([...open(), ...isTaken(step.route)], [set("ended")]);
        mayHaveEnded = true;
        break;
      default:
    }
  }
  // Caddy responds with an empty 200 if no handler responds.
  if (!isDecided)
    rule(variables.has("forwarded") ? [`vars.forwarded == ""`] : [], [
      { type: "custom-response", config: { status_code: 200 } },
    ]);
  const all = joinRules(rules);
  // A value that only response rules read needs no variable.
  const kept = all.filter((one) => {
    const name = findOnlyVariable(one);
    return name === undefined || all.some((other) => JSON.stringify(other).includes(`vars.${name} `));
  });
  const read = [...variables].filter((name) => JSON.stringify(kept).includes(`vars.${name} `));
  const clear = splitIntoChunks(read).map((names) => ({
    actions: [{ type: "set-vars", config: { vars: names.map((name) => ({ [name]: "" })) } }],
  }));
  return [...clear, ...kept];
}

/** A variable that only the next rule reads is not needed: that rule gets the conditions. */
function joinRules(rules: readonly JsonObject[]): JsonObject[] {
  const out: JsonObject[] = [];
  for (let at = 0; at < rules.length; at += 1) {
    const rule = rules[at] as JsonObject;
    const next = rules[at + 1];
    const name = findOnlyVariable(rule);
    const reads = (one: JsonObject): boolean => JSON.stringify(one).includes(`vars.${name} `);
    const isJoined =
      name !== undefined &&
      next !== undefined &&
      JSON.stringify(next["expressions"]) === JSON.stringify([isSet(name)]) &&
      !rules.slice(at + 2).some(reads);
    out.push(isJoined ? { ...rule, actions: next["actions"] } : rule);
    if (isJoined) at += 1;
  }
  return out;
}

/** Returns the variable of a rule that only sets it. */
function findOnlyVariable({ actions }: JsonObject): string | undefined {
  const [action, ...more] = actions as readonly {
    readonly type: string;
    readonly config?: { readonly vars?: readonly object[] };
  }[];
  const vars = action?.type === "set-vars" ? (action.config?.vars ?? []) : [];
  return more.length === 0 && vars.length === 1 ? Object.keys(vars[0] as object)[0] : undefined;
}

const unreachable: JsonObject = { type: "custom-response", config: { status_code: 502 } };

function isSet(name: string): string {
  return `vars.${name} == "y"`;
}

/** An action sets at most fifty variables. */
function splitIntoChunks<T>(list: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(list.length / 50) }, (_, index) => list.slice(index * 50, index * 50 + 50));
}
