/** Parses User-Agent fields: recognizes the most common browsers, systems and bots by a few words. */
import type { VariableDeclaration } from "../../cel/checking/environment.ts";
import { types } from "../../cel/checking/cel-types.ts";
import type { Type } from "../../cel/checking/cel-types.ts";
import type { Value } from "../../cel/values/cel-values.ts";
import type { PolicyContext } from "../language/policy-context.ts";
import { declareVariable } from "./declare.ts";
import type { Variables } from "./declare.ts";

const { string, bool } = types;
/** Maximum characters read. */
const maxRead = 512;

function readUserAgent({ exchange }: PolicyContext): string {
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

function findFirst(
  list: readonly (readonly [name: string, word: RegExp])[],
  text: string,
): readonly [name: string, version: string] {
  const read = text.slice(0, maxRead);
  for (const [name, word] of list) {
    const found = word.exec(read);
    if (found) return [name, (found[1] ?? "").replaceAll("_", ".")];
  }
  return ["", ""];
}

/** Parses clients that are not browsers: `curl/8.5.0`. */
function parseProduct(text: string): readonly [name: string, version: string] {
  const found = findFirst(browsers, text);
  if (found[0] !== "") return found;
  const [, name = "", version = ""] = /^([\w.-]{1,64})(?:\/([\w.-]{1,64}))?/.exec(text) ?? [];
  return [name, version];
}

const bot = /bot\b|crawler|spider|slurp|curl\/|wget\/|python-requests|go-http-client|headless/i;
const isBot = (text: string): boolean => bot.test(text.slice(0, maxRead));
const isTablet = (text: string): boolean =>
  /\biPad\b|\bTablet\b/.test(text) || (/\bAndroid\b/.test(text) && !/\bMobile\b/.test(text));
const isMobile = (text: string): boolean => /\biPhone\b|\bMobile\b/.test(text) && !isTablet(text);

/** Steps for up to eight searches of 512 characters. */
const searchCost = 8;

function searchUserAgent(type: Type, read: (context: PolicyContext) => Value | undefined): VariableDeclaration {
  return declareVariable(type, read, () => searchCost);
}

export const userAgentVariables: Variables = {
  "req.user_agent": declareVariable(string, readUserAgent),
  "req.user_agent.name": searchUserAgent(string, (context) => parseProduct(readUserAgent(context))[0]),
  "req.user_agent.version": searchUserAgent(string, (context) => parseProduct(readUserAgent(context))[1]),
  "req.user_agent.os": searchUserAgent(string, (context) => findFirst(systems, readUserAgent(context))[0]),
  "req.user_agent.os_version": searchUserAgent(string, (context) => findFirst(systems, readUserAgent(context))[1]),
  "req.user_agent.device": searchUserAgent(
    string,
    (context) => /\b(?:iPhone|iPad|Macintosh|Pixel \w{1,16})\b/.exec(readUserAgent(context).slice(0, maxRead))?.[0],
  ),
  "req.user_agent.url": searchUserAgent(
    string,
    (context) => /\+?(https?:\/\/[^\s;)]{1,256})/.exec(readUserAgent(context).slice(0, maxRead))?.[1],
  ),
  "req.user_agent.is_bot": searchUserAgent(bool, (context) => isBot(readUserAgent(context))),
  "req.user_agent.is_tablet": searchUserAgent(bool, (context) => isTablet(readUserAgent(context).slice(0, maxRead))),
  "req.user_agent.is_mobile": searchUserAgent(bool, (context) => isMobile(readUserAgent(context).slice(0, maxRead))),
  "req.user_agent.is_desktop": searchUserAgent(bool, (context) => {
    const given = readUserAgent(context).slice(0, maxRead);
    return /\b(?:Windows NT|Macintosh|X11|CrOS)\b/.test(given) && !isBot(given);
  }),
};
