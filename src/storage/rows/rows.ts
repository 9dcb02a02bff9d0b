/** Rows of `objects`, read in bulk as bytes, so that only the requested parts become JavaScript values. */
import { sql } from "kysely";
import { isThere, numberInBytes, timeInBytes, viewOf } from "../../lib/collections/value-bytes.ts";
import type { Database } from "../database/database.ts";
import type { ObjectRow } from "./documents.ts";

/** Rows read at a time. */
const step = 256;
/** Larger documents, some of several MiB, are read one at a time: the text of a page is 16 MiB at most. */
const maxDocBytes = 64 * 1024;

/** Follows each row. JSON documents never contain this byte unescaped. */
const [space, rowEnd] = [0x20, 0x1e];
const rowEndText = String.fromCharCode(rowEnd);
/** Maximum UTF-8 bytes for one unit of a JavaScript string. */
const maxBytesOfUnit = 3;

/** The current row in a text of many rows. */
export class Rows {
  bytes: Buffer = Buffer.alloc(0);
  view = viewOf(this.bytes);
  kind = "";
  accountId = "";
  /** Positions of the id, the document, and the next row or the end. */
  id = 0;
  doc = 0;
  end = 0;
  /**
   * Whether the next row belongs to another kind or account, or is not in this text. Rows of one kind and account are
   * in the order of their ids.
   */
  isLast = true;
  /** The row's document, if it was read separately. */
  largeDoc: string | undefined;
  #revision = 0;
  #createdAt = 0;
  #next = 0;
  /** Length of the text in `bytes`. */
  #length = 0;
  #text = "";
  /** Creation time of the last fully read row, and a space. */
  #created = viewOf(Buffer.from(" "));
  #createdText = "";
  /** Kind and account of the row. Its neighbor usually has the same ones. */
  #place = viewOf(Buffer.alloc(0));

  /** @param page of `pagesOfRows` */
  open({ rows: text }: RowPage): void {
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

  /** Moves to the next row. Returns whether there is one. */
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

  /** Milliseconds since 1970; NaN if it is not in the format used here. */
  get createdAt(): number {
    return timeInBytes(this.bytes, this.#createdAt, this.id - 1);
  }

  /** Whether the row's document is too large to be in the text. */
  get isLarge(): boolean {
    return this.doc === this.end;
  }

  idText(): string {
    return this.bytes.latin1Slice(this.id, this.doc - 1);
  }

  row(): ObjectRow {
    const { bytes, kind, accountId: account_id, revision } = this;
    // Neighbors usually have the same second.
    if (!isThere(this.#created, this.view, this.#createdAt)) {
      this.#created = viewOf(Buffer.from(bytes.subarray(this.#createdAt, this.id)));
      this.#createdText = bytes.latin1Slice(this.#createdAt, this.id - 1);
    }
    const doc = this.largeDoc ?? this.#docText();
    return { id: this.idText(), account_id, kind, revision, created_at: this.#createdText, doc };
  }

  /** In a text with one character per byte, a substring is not a copy. */
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

/** For so few bytes, a loop is faster than `indexOf`. */
function afterSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (bytes[at] !== space && at < bytes.length) at += 1;
  return at + 1;
}

export interface RowPage {
  readonly count: number;
  /** Text of the rows, each with its end. */
  readonly rows: string;
}

const docInText = sql`case when octet_length(doc) > ${sql.lit(maxDocBytes)} then '' else doc end`;

/**
 * Yields all rows, the oldest of each kind first, many in one text. Reading each column as a value would take longer
 * than all later work.
 */
export async function* pagesOfRows(reads: Database["reads"]): AsyncIterable<RowPage> {
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
    const { rows: found } = await reads.executeQuery<RowsPage>({ ...query, parameters });
    const [page] = found;
    const count = Number(page?.count);
    if (!page || count === 0) return;
    yield { count, rows: page.rows + rowEndText };
    if (count < step) return;
    last = page.last;
  }
}

/** Reads the document of a row with a large document. */
export async function readLargeDoc(reads: Database["reads"], id: string): Promise<string> {
  return (await reads.selectFrom("objects").select("doc").where("id", "=", id).executeTakeFirstOrThrow()).doc;
}

interface RowsPage {
  readonly count: number | string;
  readonly last: string;
  readonly rows: string;
}
