/**
 * Access log lines. Each is one line of visible ASCII, whatever clients send: neither a terminal nor a program that
 * reads lines can be misled.
 */
import type { AccessField, AccessFormat } from "../../../lib/access-fields.ts";
import type { FinishedExchange } from "../../http/http-context.ts";
import { headerValue, pathOf, readers, userOf } from "./access-values.ts";
import type { AccessValue, ReadValue } from "./access-values.ts";

/** Makes a line with its line break. @param endedAt milliseconds since 1970 */
export type MakeLine = (exchange: FinishedExchange, endedAt: number) => string;

export interface LineForm {
  readonly format: AccessFormat;
  readonly fields: readonly AccessField[];
  /** Names of request header fields, in lower case. */
  readonly headers: readonly string[];
}

export function lineMaker({ format, fields, headers }: LineForm): MakeLine {
  if (format === "combined") return writeCombinedLine;
  const columns = new Map<string, ReadValue>(fields.map((name) => [name, readers[name]]));
  for (const name of headers) columns.set(`header_${name.replaceAll("-", "_")}`, headerValue(name));
  const isJson = format === "json";
  const named = [...columns].map(([name, read]) => ({ label: isJson ? `${JSON.stringify(name)}:` : `${name}=`, read }));
  const render = isJson ? jsonValue : logfmtValue;
  return (exchange, endedAt) => {
    let line = "";
    for (const { label, read } of named) {
      const value = read(exchange, endedAt);
      if (value === undefined) continue;
      if (line !== "") line += isJson ? "," : " ";
      line += label + render(value);
    }
    return isJson ? `{${line}}\n` : `${line}\n`;
  };
}

/** Everything beyond visible ASCII as `\uXXXX`: JSON has no other escape that every reader knows. */
function jsonValue(value: AccessValue): string {
  return JSON.stringify(value).replaceAll(
    /[^\x20-\x7e]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function logfmtValue(value: AccessValue): string {
  return typeof value !== "string" || /^[\w.:/@+%,;()*-]+$/.test(value) ? String(value) : jsonValue(value);
}

/** The format of Apache and nginx, with `-` for unknown values. */
function writeCombinedLine(exchange: FinishedExchange, endedAt: number): string {
  const { source, method, request, status, bytesOut, steps } = exchange;
  const user = escapeForLog(userOf(exchange) ?? "-").replaceAll(" ", "\\x20");
  const protocol = request.httpVersion === "2" ? "2.0" : request.httpVersion;
  const line = `${method} ${escapeForLog(pathOf(exchange))} HTTP/${protocol}`;
  const shown = status === 0 ? statusOfUnanswered(steps.at(-1)?.drops === true) : status;
  const referer = quoteHeader(exchange, readers.referer);
  const agent = quoteHeader(exchange, readers.user_agent);
  return `${source} - ${user} [${formatCombinedTime(endedAt)}] "${line}" ${shown} ${bytesOut} ${referer} ${agent}\n`;
}

/** As nginx has it: 444 if the server closed the connection without a response, 499 if the client left before. */
function statusOfUnanswered(isDropped: boolean): number {
  return isDropped ? 444 : 499;
}

function quoteHeader(exchange: FinishedExchange, read: ReadValue): string {
  return `"${escapeForLog(String(read(exchange, 0) ?? "-"))}"`;
}

/** As nginx escapes: quotes, backslashes and everything beyond visible ASCII as `\xHH`. */
function escapeForLog(text: string): string {
  return text.replaceAll(/["\\]|[^\x20-\x7e]/g, (one) =>
    [...Buffer.from(one)].map((byte) => `\\x${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"] as const;
let lastSecond = -1;
let lastTime = "";

/** `27/Nov/2026:22:24:00 +0000`; made once a second. */
function formatCombinedTime(at: number): string {
  const second = Math.floor(at / 1000);
  if (second !== lastSecond) {
    const [date = "", time = ""] = new Date(second * 1000).toISOString().slice(0, 19).split("T");
    const [year = "", month = "", day = ""] = date.split("-");
    lastTime = `${day}/${months[Number(month) - 1]}/${year}:${time} +0000`;
    lastSecond = second;
  }
  return lastTime;
}
