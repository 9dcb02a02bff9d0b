/** A received webhook: the parts that signatures cover. */
export interface WebhookMessage {
  readonly method: string;
  /** The public URL as the sender wrote it. */
  readonly url: string;
  readonly headers: { getAll(name: string): readonly string[] };
  readonly body: Buffer;
}

/** Inputs for signing a sample. */
export interface WebhookSample {
  readonly secret: string;
  readonly body: Buffer;
  readonly url: string;
  readonly method: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Id of the message, if the signature covers one. Default: a new one. */
  readonly id?: string | undefined;
}

/** The signed parts of a valid sample: header fields, and another URL or body if the scheme signs there. */
export interface Signed {
  readonly headers: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly body?: Buffer;
}

/** One way to sign. A provider has one, or several during a transition. */
export interface Scheme {
  /** Whether this is an earlier form that covers less of the request than the provider's newest form. */
  readonly isOlder?: true;
  /** Whether the request claims this scheme. Called before its body is read. */
  isClaimed(headers: WebhookMessage["headers"]): boolean;
  /**
   * Returns the problem as a clause for operators, or undefined if the signature is valid.
   * @param now milliseconds since 1970
   */
  verify(secret: string, message: WebhookMessage, now: number): string | undefined | Promise<string | undefined>;
  sign(sample: WebhookSample): Signed;
  /**
   * Returns the id of a verified message if the signature covers one. It is the same in every delivery of the message.
   */
  messageId?(message: WebhookMessage): string | undefined;
  /** Returns the additional URL that `verify` would fetch now, or undefined. */
  wouldFetch?(message: WebhookMessage, now: number): string | undefined;
}

/** Returns the only value of a header that must not be repeated, or the problem (control I6). */
export function readSingle(headers: WebhookMessage["headers"], name: string): { value: string } | { wrong: string } {
  const values = headers.getAll(name);
  if (values.length === 1) return { value: values[0] as string };
  return { wrong: values.length === 0 ? `the header ${name} is missing` : `the header ${name} occurs twice` };
}

/** Returns the problem of a time that must be near `now`; both in milliseconds. */
export function checkStaleness(at: number, now: number, toleranceSeconds: number): string | undefined {
  if (!Number.isFinite(at)) return "the timestamp cannot be read";
  if (Math.abs(now - at) <= toleranceSeconds * 1000) return undefined;
  return `the timestamp is ${Math.round(Math.abs(now - at) / 1000)} s ${at < now ? "old" : "ahead"}, at most ${toleranceSeconds} s are allowed`;
}

/** Used if the provider documents no tolerance (semantics, "Webhooks"). */
export const defaultToleranceSeconds = 180;
