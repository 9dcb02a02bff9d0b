/** The static and dynamic tables of HPACK (RFC 7541 §2.3). */
import { headerEntry } from "./header-entry.ts";
import type { HeaderEntry } from "./header-entry.ts";

/** RFC 7541 Appendix A, starting at index 1: `name` or `name value`. */
const staticFields: readonly string[] = [
  ":authority",
  ":method GET",
  ":method POST",
  ":path /",
  ":path /index.html",
  ":scheme http",
  ":scheme https",
  ":status 200",
  ":status 204",
  ":status 206",
  ":status 304",
  ":status 400",
  ":status 404",
  ":status 500",
  "accept-charset",
  "accept-encoding gzip, deflate",
  "accept-language",
  "accept-ranges",
  "accept",
  "access-control-allow-origin",
  "age",
  "allow",
  "authorization",
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-length",
  "content-location",
  "content-range",
  "content-type",
  "cookie",
  "date",
  "etag",
  "expect",
  "expires",
  "from",
  "host",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "last-modified",
  "link",
  "location",
  "max-forwards",
  "proxy-authenticate",
  "proxy-authorization",
  "range",
  "referer",
  "refresh",
  "retry-after",
  "server",
  "set-cookie",
  "strict-transport-security",
  "transfer-encoding",
  "user-agent",
  "vary",
  "via",
  "www-authenticate",
];

/** Indexed by HPACK index - 1. */
export const staticTable: readonly HeaderEntry[] = staticFields.map((field) => {
  const [name = "", ...value] = field.split(" ");
  return headerEntry(Buffer.from(`${name}: ${value.join(" ")}\r\n`, "latin1"), name.length);
});

/** The indices of `:status` with these values. */
export const indexedStatus: ReadonlyMap<number, number> = new Map(
  staticFields.flatMap((field, index) =>
    field.startsWith(":status ") ? [[Number(field.slice(":status ".length)), index + 1] as const] : [],
  ),
);

/** The index of the static entry with this name. */
export function staticIndex(name: string): number {
  return staticFields.findIndex((field) => field === name || field.startsWith(`${name} `)) + 1;
}

/** Fields that the peer's encoder refers to, newest first, within the granted size (RFC 7541 §4). */
export class DynamicTable {
  /** The newest entry is last, so that adding moves nothing. */
  #entries: HeaderEntry[] = [];
  /** Number of evicted entries at the front. */
  #gone = 0;
  #size = 0;
  #maxSize: number;

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  /** @param index 0 is the newest */
  at(index: number): HeaderEntry | undefined {
    const position = this.#entries.length - 1 - index;
    return position < this.#gone ? undefined : this.#entries[position];
  }

  add(entry: HeaderEntry): void {
    this.#size += entry.size;
    this.#entries.push(entry);
    this.#evict();
  }

  resize(maxSize: number): void {
    this.#maxSize = maxSize;
    this.#evict();
  }

  #evict(): void {
    while (this.#size > this.#maxSize) {
      this.#size -= (this.#entries[this.#gone] as HeaderEntry).size;
      this.#gone += 1;
    }
    if (this.#gone === 0 || this.#gone * 2 < this.#entries.length) return;
    this.#entries = this.#entries.slice(this.#gone);
    this.#gone = 0;
  }
}
