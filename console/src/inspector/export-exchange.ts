/** Exports requests for other tools: as a curl command and as an archive (HAR 1.2). */
import { renderCurl, curlHeader, pipeTo, quoteForShell } from "../ui/shell.ts";
import { base64Of, bodyOf, cookiesOf, fieldOf, msOf, queryOf } from "../exchange/model.ts";
import type { ShownExchange, Headers, Message } from "../exchange/model.ts";
import { urlOf } from "./tunnels.ts";
import type { Tunnel } from "./tunnels.ts";

/** Fields that curl sets itself. */
const own = new Set(["host", "content-length", "connection", "transfer-encoding"]);

/** Characters that an argument cannot contain, or that a terminal interprets when the command is pasted. */
const hasControls = /[^\P{Cc}\t\n]/u;

export function curlOf(exchange: ShownExchange, tunnels: readonly Tunnel[]): string {
  const { request } = exchange;
  const url = urlOf(exchange, tunnels);
  const fields = Object.entries(request.headers).flatMap(([name, values]) =>
    own.has(name.toLowerCase()) ? [] : values.map((value) => curlHeader(name, value)),
  );
  const body = bodyOf(request);
  const command = (...data: readonly string[]): string => renderCurl(url, request.method, [...fields, ...data]);
  if (body.length === 0) return command();
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    const read = text.decode(body);
    // `--data-raw`, because `--data` and `--data-binary` read a file if the body begins with @.
    if (!hasControls.test(read)) return command("--data-raw", quoteForShell(read));
  } catch {
    // A body that is not text is sent through base64.
  }
  return pipeTo(base64Of(body), `base64 -d | ${command("--data-binary", "@-")}`);
}

export function harOf(exchanges: readonly ShownExchange[], tunnels: readonly Tunnel[]): string {
  const entries = exchanges.map((exchange) => {
    const { request, response, start } = exchange;
    const timings = timingsOf(exchange);
    return {
      startedDateTime: start,
      time: sumOf(timings),
      request: {
        method: request.method,
        url: urlOf(exchange, tunnels),
        httpVersion: request.proto,
        headers: pairsOf(request.headers),
        cookies: cookiesOf(fieldOf(request.headers, "cookie") ?? ""),
        queryString: queryOf(request.uri),
        headersSize: -1,
        bodySize: request.body.bytes,
        ...(request.body.kept > 0 && { postData: contentOf(request) }),
      },
      response: {
        status: response?.status_code ?? 0,
        statusText: response?.status.slice(4) ?? "",
        httpVersion: response?.proto ?? "",
        headers: pairsOf(response?.headers ?? {}),
        cookies: setCookiesOf(response?.headers ?? {}),
        content: response ? contentOf(response) : { size: 0, mimeType: "" },
        redirectURL: fieldOf(response?.headers ?? {}, "location") ?? "",
        headersSize: -1,
        bodySize: response?.body.bytes ?? -1,
      },
      cache: {},
      timings,
    };
  });
  return JSON.stringify({ log: { version: "1.2", creator: { name: "Postern", version: "1" }, entries } }, undefined, 2);
}

/** Milliseconds; -1: does not apply. Times at the edge and between edge and agent are unknown. */
interface HarTimings {
  readonly blocked: number;
  readonly dns: -1;
  readonly connect: number;
  readonly send: 0;
  readonly wait: number;
  readonly receive: number;
  readonly ssl: -1;
}

function timingsOf({ timing, duration, first_byte }: ShownExchange): HarTimings {
  const firstMs = first_byte === null ? msOf(duration) : msOf(first_byte);
  const before = timing?.edge == null ? -1 : msOf(timing.edge) + msOf(timing.tunnel ?? 0);
  const connect = timing?.connect ? msOf(timing.connect) : -1;
  return {
    blocked: before,
    dns: -1,
    connect,
    send: 0,
    wait: Math.max(0, firstMs - Math.max(0, connect)),
    receive: Math.max(0, msOf(duration) - firstMs),
    ssl: -1,
  };
}

function sumOf(timings: HarTimings): number {
  return Object.values(timings).reduce((sum: number, ms: number) => sum + Math.max(0, ms), 0);
}

function pairsOf(headers: Headers): { name: string; value: string }[] {
  return Object.entries(headers).flatMap(([name, values]) => values.map((value) => ({ name, value })));
}

function setCookiesOf(headers: Headers): { name: string; value: string }[] {
  const fields = pairsOf(headers).filter(({ name }) => name.toLowerCase() === "set-cookie");
  return fields.flatMap(({ value }) => cookiesOf(value.split(";", 1)[0] ?? ""));
}

function contentOf(message: Message): object {
  const bytes = bodyOf(message);
  const mimeType = fieldOf(message.headers, "content-type") ?? "";
  return { size: message.body.bytes, mimeType, text: base64Of(bytes), encoding: "base64" };
}

export function downloadFile(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
