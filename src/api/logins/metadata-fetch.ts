/** Fetches the metadata of an identity provider within the limits of control I7. */
import type { Clock } from "../../lib/clock.ts";
import { openOutbound } from "../../outbound/outbound.ts";

export interface MetadataFetch {
  /**
   * Rejects with the reason if the metadata cannot be fetched.
   * @param etag of the known metadata; "" for none
   */
  get(url: string, etag: string): Promise<{ readonly text: string; readonly etag: string } | "unchanged">;
  close(): void;
}

export interface MetadataFetchOptions {
  readonly clock: Clock;
  readonly allowLocal: boolean;
  readonly ca: string | undefined;
}

const callMs = 5_000;
const maxBytes = 1024 * 1024;
const maxTag = 1024;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function makeMetadataFetch({ clock, allowLocal, ca }: MetadataFetchOptions): MetadataFetch {
  const outbound = openOutbound({
    purpose: "logins",
    clock,
    reach: allowLocal ? "any" : "public",
    ca,
    timeoutMs: callMs,
    maxAnswerBytes: maxBytes,
  });
  return {
    async get(url, known) {
      const { status, headers, body } = await outbound.send({
        method: "GET",
        url: new URL(url),
        headers: {
          accept: "application/samlmetadata+xml, application/xml, text/xml",
          "accept-encoding": "identity",
          ...(known !== "" && { "if-none-match": known }),
        },
      });
      if (status === 304) return "unchanged";
      if (status >= 300 && status < 400) throw new Error("it redirects, and redirects are not followed");
      if (status !== 200) throw new Error(`it answers ${status}`);
      const coding = headers["content-encoding"] ?? "identity";
      if (coding !== "identity") throw new Error("it answers compressed, although the request did not allow that");
      const type = headers["content-type"] ?? "";
      if (!/^(?:application|text)\/(?:[\w.-]+\+)?xml\s*(?:;|$)/i.test(type)) {
        throw new Error(`it answers with ${JSON.stringify(type.slice(0, 60))} instead of XML`);
      }
      const { etag = "" } = headers;
      return { text: decodeMetadata(body), etag: etag.length <= maxTag ? etag : "" };
    },
    close: () => outbound.close(),
  };
}

function decodeMetadata(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch {
    throw new Error("it is not UTF-8");
  }
}
