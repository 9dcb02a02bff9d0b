/** Requests for other tools: a curl command, and an archive (HAR 1.2). */
import { quoted } from "../ui/shell.ts";
import { base64Of, bodyOf, cookiesOf, fieldOf, msOf, queryOf } from "../exchange/model.ts";
import type { Exchange, Headers, Message } from "../exchange/model.ts";
import { urlOf } from "./tunnels.ts";
import type { Tunnel } from "./tunnels.ts";

/** What curl writes itself. */
const own = new Set(["host", "content-length", "connection", "transfer-encoding"]);

export function curlOf(exchange: Exchange, tunnels: readonly Tunnel[]): string {
  const { request } = exchange;
  const parts = ["curl", quoted(urlOf(exchange, tunnels)), "-X", quoted(request.method)];
  for (const [name, values] of Object.entries(request.headers)) {
    if (own.has(name.toLowerCase())) continue;
    for (const value of values) parts.push("-H", quoted(`${name}: ${value}`));
  }
  const body = bodyOf(request);
  if (body.length === 0) return parts.join(" ");
  const text = new TextDecoder("utf-8", { fatal: true });
  try {
    const read = text.decode(body);
    if (!read.includes("\0")) return [...parts, "--data-binary", quoted(read)].join(" ");
  } catch {
    // Bytes that no argument can carry come by the way of base64.
  }
  return `printf %s ${quoted(base64Of(body))} | base64 -d | ${[...parts, "--data-binary", "@-"].join(" ")}`;
}

export function harOf(exchanges: readonly Exchange[], tunnels: readonly Tunnel[]): string {
  const entries = exchanges.map((exchange) => {
    const { request, response, start, duration, first_byte } = exchange;
    const firstMs = first_byte === null ? msOf(duration) : msOf(first_byte);
    return {
      startedDateTime: start,
      time: msOf(duration),
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
        cookies: [],
        content: response ? contentOf(response) : { size: 0, mimeType: "" },
        redirectURL: fieldOf(response?.headers ?? {}, "location") ?? "",
        headersSize: -1,
        bodySize: response?.body.bytes ?? -1,
      },
      cache: {},
      timings: { send: 0, wait: firstMs, receive: Math.max(0, msOf(duration) - firstMs) },
    };
  });
  return JSON.stringify({ log: { version: "1.2", creator: { name: "Postern", version: "1" }, entries } }, undefined, 2);
}

function pairsOf(headers: Headers): { name: string; value: string }[] {
  return Object.entries(headers).flatMap(([name, values]) => values.map((value) => ({ name, value })));
}

function contentOf(message: Message): object {
  const bytes = bodyOf(message);
  const mimeType = fieldOf(message.headers, "content-type") ?? "";
  return { size: message.body.bytes, mimeType, text: base64Of(bytes), encoding: "base64" };
}

export function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
