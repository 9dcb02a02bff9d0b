/**
 * Pages of lists as they were last sent. One that is asked for again is sent again as long as the objects on it are
 * the same ones: they never change, each new state of one is another object.
 */
import { isAscii } from "node:buffer";
import type { StoredObject } from "../../storage/store.ts";

/** Pages kept at most, those asked for last; 8 MiB. */
const maxPages = 32;
/** A longer page is made anew each time. */
const maxPageBytes = 262_144;

export interface Page {
  readonly objects: readonly StoredObject[];
  /** Older objects follow. */
  readonly more: boolean;
}

export interface SentPage {
  /** A text without characters beyond ASCII leaves in one write with the head; others are encoded once. */
  readonly body: string | Buffer;
  /** Bytes of `body` in decimal. */
  readonly contentLength: string;
}

interface Kept extends Page, SentPage {
  /** The state of the store in which the objects were last seen to be those of the page. */
  revision: number;
}

export interface KeptPages {
  /**
   * The page named `key`, which has to name everything that `read` and `render` depend on besides the store.
   * @param revision the store's count of commits: while it stays, so does everything in it
   */
  sent(key: string, revision: number, read: () => Page, render: (page: Page) => string): SentPage;
}

export function makeKeptPages(): KeptPages {
  const pages = new Map<string, Kept>();
  return {
    sent(key, revision, read, render) {
      const kept = pages.get(key);
      pages.delete(key);
      if (kept?.revision === revision) {
        pages.set(key, kept);
        return kept;
      }
      const page = read();
      if (kept && isSame(kept, page)) {
        kept.revision = revision;
        pages.set(key, kept);
        return kept;
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
