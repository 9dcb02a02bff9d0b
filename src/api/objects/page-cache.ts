/**
 * Caches pages of lists as they were last sent. A cached page is valid while it would contain the same objects. Objects
 * are immutable; each new state is another object.
 */
import { isAscii } from "node:buffer";
import type { Page } from "./read-page.ts";

/** Maximum number of cached pages, 8 MiB in total. The least recently used is evicted. */
const maxPages = 32;
/** Maximum size of a cached page. Larger pages are rendered each time. */
const maxPageBytes = 262_144;

export interface SentPage {
  /** Node writes an ASCII text together with the head. Other texts are encoded once. */
  readonly body: string | Buffer;
  /** Size of `body`, bytes in decimal. */
  readonly contentLength: string;
}

interface CachedPage extends Page, SentPage {
  /** The revision at which the page was last known to be valid. */
  revision: number;
}

export interface PageCache {
  /**
   * Returns the page `key`, which must identify everything besides the store that `read` and `render` depend on.
   * @param revision the store's number of commits; the store is unchanged while it is
   */
  sent(key: string, revision: number, read: () => Page, render: (page: Page) => string): SentPage;
}

export function makePageCache(): PageCache {
  const pages = new Map<string, CachedPage>();
  return {
    sent(key, revision, read, render) {
      const cached = pages.get(key);
      pages.delete(key);
      if (cached?.revision === revision) {
        pages.set(key, cached);
        return cached;
      }
      const page = read();
      if (cached && isSame(cached, page)) {
        cached.revision = revision;
        pages.set(key, cached);
        return cached;
      }
      const bytes = Buffer.from(render(page));
      const body = isAscii(bytes) ? bytes.latin1Slice() : bytes;
      const made = { ...page, body, contentLength: String(bytes.length), revision };
      if (bytes.length > maxPageBytes) return made;
      pages.set(key, made);
      if (pages.size > maxPages) pages.delete(pages.keys().next().value as string);
      return made;
    },
  };
}

function isSame(one: Page, other: Page): boolean {
  return (
    one.more === other.more &&
    one.objects.length === other.objects.length &&
    one.objects.every((object, index) => object === other.objects[index])
  );
}
