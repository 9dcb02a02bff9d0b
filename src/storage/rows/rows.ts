/** Rows of `objects`, very many at a time: read in the bytes in which they come, so that no more is made of them than is asked for. */
import { sql } from "kysely";
import { isThere, numberInBytes, timeInBytes, viewOf } from "../../lib/collections/value-bytes.ts";
import type { Database } from "../database/database.ts";
import type { ObjectRow } from "./documents.ts";

/** Rows read at a time. */
const step = 256;
/** Larger documents, of which some are mebibytes, are asked for one by one: the text of a page is 16 MiB at most. */
const maxDocBytes = 64 * 1024;

/** Behind each row: documents are JSON, in which it is never as it is. */
const [space, rowEnd] = [0x20, 0x1e];
const rowEndText = String.fromCharCode(rowEnd);
/** Of UTF-8, for what is one in a string of JavaScript. */
const maxBytesOfUnit = 3;

/** The row that is looked at, of all in one text. */
export class Rows {
  bytes: Buffer = Buffer.alloc(0);
  view = viewOf(this.bytes);
  kind = "";
  accountId = "";
  /** Where the id begins, the document, and the next row or nothing. */
  id = 0;
  doc = 0;
  end = 0;
  /** Whether the next one is another kind's or account's, or is not in this text: those of each are in the order of their ids. */
  isLast = true;
  /** Its document, where that was asked for by itself. */
  largeDoc: string | undefined;
  #revision = 0;
  #createdAt = 0;
  #next = 0;
  /** Of the text, in `bytes`. */
  #length = 0;
  #text = "";
  /** When the last row was made that was read whole, and a space. */
  #created = viewOf(Buffer.from(" "));
  #createdText = "";
  /** Kind and account of the row, as those of its neighbour mostly are. */
  #place = viewOf(Buffer.alloc(0));

  /** @param page of `pagesOfRows` */
  open({ rows: text }: Page): void {
    const most = text.length * maxBytesOfUnit;
    if (this.bytes.length < most) {
      this.bytes = Buffer.allocUnsafeSlow(most);
      this.view = viewOf(this.bytes);
    }
    this.#length = this.bytes.utf8Write(text);
    this.#text = text;
    this.#next = 0;
    this.isLast = true;
  }

  /** Whether there is another. */
  next(): boolean {
    const { bytes } = this;
    const start = this.#next;
    if (start >= this.#length) return false;
    if (this.isLast) this.#readPlace(start);
    this.#revision = start + this.#place.byteLength;
    this.#createdAt = afterSpace(bytes, this.#revision);
    this.id = afterSpace(bytes, this.#createdAt);
    this.doc = afterSpace(bytes, this.id);
    this.end = bytes.indexOf(rowEnd, this.doc);
    this.largeDoc = undefined;
    this.#next = this.end + 1;
    this.isLast = this.#next >= this.#length || !isThere(this.#place, this.view, this.#next);
    return true;
  }

  get revision(): number {
    return numberInBytes(this.bytes, this.#revision, this.#createdAt - 1);
  }

  /** Milliseconds since 1970; NaN where it is not as it is written here. */
  get createdAt(): number {
    return timeInBytes(this.bytes, this.#createdAt, this.id - 1);
  }

  /** Whether its document is too large to be in the text. */
  get isLarge(): boolean {
    return this.doc === this.end;
  }

  idText(): string {
    return this.bytes.latin1Slice(this.id, this.doc - 1);
  }

  row(): ObjectRow {
    const { bytes, kind, accountId: account_id, revision } = this;
    // Those of neighbours are of one second, mostly.
    if (!isThere(this.#created, this.view, this.#createdAt)) {
      this.#created = viewOf(Buffer.from(bytes.subarray(this.#createdAt, this.id)));
      this.#createdText = bytes.latin1Slice(this.#createdAt, this.id - 1);
    }
    const doc = this.largeDoc ?? this.#docText();
    return { id: this.idText(), account_id, kind, revision, created_at: this.#createdText, doc };
  }

  /** Of a text in which characters are where bytes are, a part is no copy. */
  #docText(): string {
    return this.#isAscii ? this.#text.slice(this.doc, this.end) : this.bytes.utf8Slice(this.doc, this.end);
  }

  get #isAscii(): boolean {
    return this.#length === this.#text.length;
  }

  #readPlace(start: number): void {
    if (this.#place.byteLength > 0 && isThere(this.#place, this.view, start)) return;
    const account = this.bytes.indexOf(space, start) + 1;
    const revision = this.bytes.indexOf(space, account) + 1;
    this.kind = this.bytes.latin1Slice(start, account - 1);
    this.accountId = this.bytes.latin1Slice(account, revision - 1);
    this.#place = viewOf(Buffer.from(this.bytes.subarray(start, revision)));
  }
}

/** `indexOf` takes longer than to look at so few bytes. */
function afterSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (bytes[at] !== space && at < bytes.length) at += 1;
  return at + 1;
}

export interface Page {
  readonly count: number;
  /** Their text: each row with its end. */
  readonly rows: string;
}

const docInText = sql`case when octet_length(doc) > ${sql.lit(maxDocBytes)} then '' else doc end`;

/**
 * All rows, the oldest of each kind first, many in a text: a value of each column would take longer than all that is done
 * with them.
 */
export async function* pagesOfRows(reads: Database["reads"]): AsyncIterable<Page> {
  const rows = reads.selectFrom("objects").selectAll().where("id", ">", "").orderBy("id").limit(step);
  const query = reads
    .selectFrom(rows.as("rows"))
    .select([
      sql`count(*)`.as("count"),
      sql`max(id)`.as("last"),
      sql`string_agg(concat_ws(' ', kind, account_id, revision, created_at, id, ${docInText}), ${rowEndText})`.as(
        "rows",
      ),
    ])
    .compile();
  for (let last = ""; ;) {
    const parameters = query.parameters.map((one) => (one === "" ? last : one));
    const { rows: found } = await reads.executeQuery<Found>({ ...query, parameters });
    const [page] = found;
    const count = Number(page?.count);
    if (!page || count === 0) return;
    yield { count, rows: page.rows + rowEndText };
    if (count < step) return;
    last = page.last;
  }
}

/** The document of a row that has a large one. */
export async function largeDocOf(reads: Database["reads"], id: string): Promise<string> {
  return (await reads.selectFrom("objects").select("doc").where("id", "=", id).executeTakeFirstOrThrow()).doc;
}

interface Found {
  readonly count: number | string;
  readonly last: string;
  readonly rows: string;
}
