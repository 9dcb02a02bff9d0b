/** Decodes bodies and formats them according to their declared type. */
import { hexOf } from "./hex.ts";
import { fieldOf } from "./model.ts";
import type { Headers } from "./model.ts";

export type ShownBody =
  | { readonly kind: "empty" }
  | { readonly kind: "text"; readonly text: string; readonly of: string }
  | { readonly kind: "pairs"; readonly of: string; readonly pairs: readonly (readonly [string, string])[] }
  | { readonly kind: "image"; readonly type: string; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: "events"; readonly events: readonly StreamEvent[] }
  | { readonly kind: "bytes"; readonly text: string; readonly why: string };

export interface StreamEvent {
  readonly event: string;
  readonly id: string;
  readonly data: string;
}

/** Content codings that browsers can decode. */
const codings = new Map<string, CompressionFormat>([
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["deflate", "deflate"],
]);

/** @param isCut whether the end was not captured */
export async function readBody(body: Uint8Array<ArrayBuffer>, headers: Headers, isCut: boolean): Promise<ShownBody> {
  if (body.length === 0) return { kind: "empty" };
  const coding = (fieldOf(headers, "content-encoding") ?? "identity").trim().toLowerCase();
  let plain = body;
  if (coding !== "identity") {
    const format = codings.get(coding);
    if (!format) return asBytes(body, `encoded as ${coding}, which browsers cannot decode`);
    plain = await decompressBody(body, format);
    if (plain.length === 0) return asBytes(body, `is no ${coding}`);
  }
  const type = fieldOf(headers, "content-type") ?? "";
  const essence = type.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (essence.startsWith("image/")) return { kind: "image", type: essence, bytes: plain };
  const text = decodeText(plain);
  if (text === undefined) return asBytes(plain, essence || "no text");
  if (essence === "text/event-stream") return { kind: "events", events: readEvents(text) };
  if (essence === "application/x-www-form-urlencoded") {
    return { kind: "pairs", of: "form", pairs: [...new URLSearchParams(text)] };
  }
  if (/[/+]json$/.test(essence) || /^\s*[[{]/.test(text)) {
    const pretty = prettyJson(text);
    if (pretty !== undefined) return { kind: "text", of: "JSON", text: pretty };
    if (!isCut && /[/+]json$/.test(essence)) return { kind: "text", of: "declared as JSON, but not valid JSON", text };
  }
  if (/[/+]xml$/.test(essence)) return { kind: "text", of: "XML", text: prettyXml(text) };
  return { kind: "text", of: essence || "text", text };
}

/** Decodes as much as possible, because a cut body ends in the middle. */
async function decompressBody(
  body: Uint8Array<ArrayBuffer>,
  format: CompressionFormat,
): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  try {
    const reader = new Blob([body]).stream().pipeThrough(new DecompressionStream(format)).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      pieces.push(value);
    }
  } catch {
    // Data before the error is shown.
  }
  return new Uint8Array(await new Blob(pieces as BlobPart[]).arrayBuffer());
}

/** Returns undefined for invalid UTF-8, or for bytes that do not occur in text. */
function decodeText(bytes: Uint8Array): string | undefined {
  for (let short = 0; short < 4; short += 1) {
    try {
      // A cut may be inside a character.
      const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, bytes.length - short));
      // oxlint-disable-next-line no-control-regex
      return /[\0-\x08\x0e-\x1a]/.test(text) ? undefined : text;
    } catch {
      // Try a shorter text.
    }
  }
  return undefined;
}

function prettyJson(text: string): string | undefined {
  try {
    // Numbers beyond 2^53 would be changed.
    return /\d{16}/.test(text) ? (JSON.parse(text), text) : JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return undefined;
  }
}

/** Writes each tag on a separate line, indented. Interprets nothing. */
export function prettyXml(text: string): string {
  let depth = 0;
  return text
    .replaceAll(/>\s*</g, ">\n<")
    .split("\n")
    .map((line) => {
      if (line.startsWith("</")) depth = Math.max(0, depth - 1);
      const indented = "  ".repeat(depth) + line.trim();
      if (/^<[^/?!][^>]*[^/]>$|^<\w>$/.test(line.trim())) depth += 1;
      return indented;
    })
    .join("\n");
}

/** Reads the complete events so far (WHATWG HTML, "Parsing an event stream"). */
export function readEvents(text: string): StreamEvent[] {
  return text
    .replaceAll("\r\n", "\n")
    .split("\n\n")
    .flatMap((block) => {
      const fields = block.split("\n").map((line) => /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? []);
      const of = (wanted: string): string[] =>
        fields.filter(([, name]) => name === wanted).map(([, , value = ""]) => value);
      const data = of("data");
      if (data.length === 0) return [];
      return [{ event: of("event").at(-1) ?? "message", id: of("id").at(-1) ?? "", data: data.join("\n") }];
    });
}

function asBytes(bytes: Uint8Array, why: string): ShownBody {
  return { kind: "bytes", text: hexOf(bytes), why };
}
