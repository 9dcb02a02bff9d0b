/** A webhook as it came: what signatures are made over. */
export interface WebhookMessage {
  readonly method: string;
  /** The public URL, as its sender wrote it. */
  readonly url: string;
  readonly headers: { getAll(name: string): readonly string[] };
  readonly body: Buffer;
}

/** What is needed to sign a sample. */
export interface Sample {
  readonly secret: string;
  readonly body: Buffer;
  readonly url: string;
  readonly method: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** What to send so that a sample verifies: header fields, and another URL or body where the scheme signs there. */
export interface Signed {
  readonly headers: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly body?: Buffer;
}

/** One way to sign. A provider has one, or a few while it changes from one to another. */
export interface Scheme {
  /** An earlier form, which covers less of the request than the provider's newest one does. */
  readonly isOlder?: true;
  /** Whether the request claims to be signed this way; looked at before its body is read. */
  isClaimed(headers: WebhookMessage["headers"]): boolean;
  /**
   * What is wrong, as a clause for operators, or undefined when the signature holds.
   * @param now milliseconds since 1970
   */
  verify(secret: string, message: WebhookMessage, now: number): string | undefined | Promise<string | undefined>;
  sign(sample: Sample): Signed;
  /** Id of a message that verifies, where the signature covers one: the same in every delivery of the message. */
  messageId?(message: WebhookMessage): string | undefined;
  /** URL that `verify` would fetch now, besides; undefined when it would not. */
  wouldFetch?(message: WebhookMessage, now: number): string | undefined;
}

/** The one value of a header that may come once, or what is wrong with it (control I6). */
export function single(headers: WebhookMessage["headers"], name: string): { value: string } | { wrong: string } {
  const values = headers.getAll(name);
  if (values.length === 1) return { value: values[0] as string };
  return { wrong: values.length === 0 ? `the header ${name} is missing` : `the header ${name} occurs twice` };
}

/** What is wrong with a time that must be near `now`; both in milliseconds. */
export function staleness(at: number, now: number, toleranceSeconds: number): string | undefined {
  if (!Number.isFinite(at)) return "the timestamp cannot be read";
  if (Math.abs(now - at) <= toleranceSeconds * 1000) return undefined;
  return `the timestamp is ${Math.round(Math.abs(now - at) / 1000)} s ${at < now ? "old" : "ahead"}, at most ${toleranceSeconds} s are allowed`;
}

/** Where the provider documents none (semantics, "Webhooks"). */
export const defaultToleranceSeconds = 180;
