/**
 * Pages of lists as they were last sent. One that is asked for again is sent again as long as the objects on it are
 * the same ones: they never change, each new state of one is another object.
 */
import { isAscii } from "node:buffer";
import type { Page } from "./read-page.ts";

/** Pages kept at most, those asked for last; 8 MiB. */
const maxPages = 32;
/** A longer page is made anew each time. */
const maxPageBytes = 262_144;

export interface SentPage {
  /** A text without characters beyond ASCII leaves in one write with the head; others are encoded once. */
  readonly body: string | Buffer;
  /** Bytes of `body` in decimal. */
  readonly contentLength: string;
}

interface CachedPage extends Page, SentPage {
  /** The state of the store in which the objects were last seen to be those of the page. */
  revision: number;
}

export interface PageCache {
  /**
   * The page named `key`, which has to name everything that `read` and `render` depend on besides the store.
   * @param revision the store's count of commits: while it stays, so does everything in it
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
