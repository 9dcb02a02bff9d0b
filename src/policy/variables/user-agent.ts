/** Parses User-Agent fields: recognizes the most common browsers, systems and bots by a few words. */
import type { VariableDeclaration } from "../../cel/checking/environment.ts";
import { types } from "../../cel/checking/types.ts";
import type { Type } from "../../cel/checking/types.ts";
import type { Value } from "../../cel/values/values.ts";
import type { PolicyContext } from "../language/context.ts";
import { variable } from "./declare.ts";
import type { Variables } from "./declare.ts";

const { string, bool } = types;
/** Maximum characters read. */
const maxRead = 512;

function text({ exchange }: PolicyContext): string {
  return exchange?.request.headers.get("user-agent") ?? "";
}

/** Words that identify a browser. The first word found counts, because most browsers name several. */
const browsers: readonly (readonly [name: string, word: RegExp])[] = [
  ["Edge", /\bEdgA?\/([\d.]{1,32})/],
  ["Opera", /\bOPR\/([\d.]{1,32})/],
  ["Firefox", /\b(?:Firefox|FxiOS)\/([\d.]{1,32})/],
  ["Chrome", /\b(?:Chrome|CriOS)\/([\d.]{1,32})/],
  ["Safari", /\bVersion\/([\d.]{1,32}) (?:Mobile\/\w{1,16} )?Safari\//],
];

const systems: readonly (readonly [name: string, word: RegExp])[] = [
  ["Windows", /\bWindows NT ([\d.]{1,32})/],
  ["iOS", /\b(?:iPhone )?OS ([\d_]{1,32}) like Mac OS X/],
  ["macOS", /\bMac OS X ([\d_.]{1,32})/],
  ["Android", /\bAndroid ([\d.]{1,32})/],
  ["ChromeOS", /\bCrOS \w{1,16} ([\d.]{1,32})/],
  ["Linux", /\bLinux()/],
];

function first(
  list: readonly (readonly [name: string, word: RegExp])[],
  given: string,
): readonly [name: string, version: string] {
  const read = given.slice(0, maxRead);
  for (const [name, word] of list) {
    const found = word.exec(read);
    if (found) return [name, (found[1] ?? "").replaceAll("_", ".")];
  }
  return ["", ""];
}

/** Parses clients that are not browsers: `curl/8.5.0`. */
function product(given: string): readonly [name: string, version: string] {
  const found = first(browsers, given);
  if (found[0] !== "") return found;
  const [, name = "", version = ""] = /^([\w.-]{1,64})(?:\/([\w.-]{1,64}))?/.exec(given) ?? [];
  return [name, version];
}

const bot = /bot\b|crawler|spider|slurp|curl\/|wget\/|python-requests|go-http-client|headless/i;
const isBot = (given: string): boolean => bot.test(given.slice(0, maxRead));
const isTablet = (given: string): boolean =>
  /\biPad\b|\bTablet\b/.test(given) || (/\bAndroid\b/.test(given) && !/\bMobile\b/.test(given));
const isMobile = (given: string): boolean => /\biPhone\b|\bMobile\b/.test(given) && !isTablet(given);

/** Steps for up to eight searches of 512 characters. */
const searchCost = 8;

function searched(type: Type, read: (context: PolicyContext) => Value | undefined): VariableDeclaration {
  return variable(type, read, () => searchCost);
}

export const userAgentVariables: Variables = {
  "req.user_agent": variable(string, text),
  "req.user_agent.name": searched(string, (context) => product(text(context))[0]),
  "req.user_agent.version": searched(string, (context) => product(text(context))[1]),
  "req.user_agent.os": searched(string, (context) => first(systems, text(context))[0]),
  "req.user_agent.os_version": searched(string, (context) => first(systems, text(context))[1]),
  "req.user_agent.device": searched(
    string,
    (context) => /\b(?:iPhone|iPad|Macintosh|Pixel \w{1,16})\b/.exec(text(context).slice(0, maxRead))?.[0],
  ),
  "req.user_agent.url": searched(
    string,
    (context) => /\+?(https?:\/\/[^\s;)]{1,256})/.exec(text(context).slice(0, maxRead))?.[1],
  ),
  "req.user_agent.is_bot": searched(bool, (context) => isBot(text(context))),
  "req.user_agent.is_tablet": searched(bool, (context) => isTablet(text(context).slice(0, maxRead))),
  "req.user_agent.is_mobile": searched(bool, (context) => isMobile(text(context).slice(0, maxRead))),
  "req.user_agent.is_desktop": searched(bool, (context) => {
    const given = text(context).slice(0, maxRead);
    return /\b(?:Windows NT|Macintosh|X11|CrOS)\b/.test(given) && !isBot(given);
  }),
};
