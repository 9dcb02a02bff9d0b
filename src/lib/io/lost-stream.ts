/** A stream ended because the session that carried it has ended. Its service may have seen its bytes. */
export class LostStream extends Error {}

/**
 * A stream ended, and its other end has processed none of its bytes. Everything that was written to the stream can be
 * sent again elsewhere, whatever it means.
 */
export class UnusedStream extends LostStream {
  /** Why the stream was not used: its session or connection ends, or the other end is at a limit. */
  readonly reason: "tunnel_gone" | "tunnel_busy" | "upstream_refused";

  constructor(reason: UnusedStream["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}
