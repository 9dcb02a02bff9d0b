/** Hands webhooks to the control plane, which stores them. The exchange waits for the answer, never the thread. */
import { reportFailure } from "../../lib/boundary.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { payloadBytes, writePayload } from "../../lib/inbox-payload.ts";
import { phase, putOff } from "../../lib/turn.ts";
import type { TurnTask } from "../../lib/turn.ts";
import type { PackedWebhook } from "../../routing/planes/inbox-questions.ts";
import type { Upward } from "../../routing/planes/messages.ts";
import type { Inbox, InboxOutcome, ReceivedWebhook } from "../../traffic/stored-request.ts";

/** Maximum time to wait for the storage. The provider then repeats the webhook. */
const waitMs = 10_000;
/** Maximum number of body bytes that wait for the storage. */
const maxWaitingBytes = 64 * 1024 * 1024;
const maxWaiting = 10_000;
/** Bounds of what crosses together. A longer webhook crosses alone. */
const maxBatch = 256;
const maxBatchBytes = 4 * 1024 * 1024;

export interface InboxLine extends Inbox {
  stored(call: number, outcomes: readonly InboxOutcome[]): void;
  /** Whether the control plane can be reached. If not, everything that waits is refused. */
  reachable(isReachable: boolean): void;
}

interface Item {
  readonly message: ReceivedWebhook;
  readonly body: Uint8Array;
  readonly resolve: (outcome: InboxOutcome) => void;
}

interface Batch {
  readonly resolves: readonly Item["resolve"][];
  readonly bytes: number;
  readonly late: Timer;
}

export function makeInboxLine(send: (message: Upward) => void, clock: Clock): InboxLine {
  return new WaitingInboxes(send, clock);
}

/** The webhooks of one turn cross to the control plane together. */
class WaitingInboxes implements InboxLine, TurnTask {
  readonly #send: (message: Upward) => void;
  readonly #clock: Clock;
  /** Received in this turn. */
  #items: Item[] = [];
  #itemBytes = 0;
  readonly #batches = new Map<number, Batch>();
  #count = 0;
  #bytes = 0;
  #lastCall = 0;
  #isReachable = false;

  constructor(send: (message: Upward) => void, clock: Clock) {
    this.#send = send;
    this.#clock = clock;
  }

  put(message: ReceivedWebhook, body: Buffer): Promise<InboxOutcome> {
    if (!this.#isReachable || this.#count >= maxWaiting || this.#bytes + body.length > maxWaitingBytes) {
      return Promise.resolve("unavailable");
    }
    return new Promise((resolve) => {
      if (this.#items.length === 0) putOff(this, phase.tunnels);
      else if (this.#items.length >= maxBatch || this.#itemBytes + body.length > maxBatchBytes) this.turn();
      this.#items.push({ message, body, resolve });
      this.#itemBytes += body.length;
      this.#count += 1;
      this.#bytes += body.length;
    });
  }

  turn(): void {
    const [items, bytes] = [this.#items, this.#itemBytes];
    if (items.length === 0) return;
    [this.#items, this.#itemBytes] = [[], 0];
    const call = (this.#lastCall += 1);
    const late = this.#clock.after(waitMs, () => this.#settle(call));
    this.#batches.set(call, { resolves: items.map(({ resolve }) => resolve), bytes, late });
    if (this.#isReachable) this.#send({ type: "inbox_messages", call, ...packWebhooks(items) });
    else this.#settle(call);
  }

  broke(error: unknown): void {
    reportFailure("task", error);
    this.#settle(this.#lastCall);
  }

  stored(call: number, outcomes: readonly InboxOutcome[]): void {
    this.#settle(call, outcomes);
  }

  reachable(isReachable: boolean): void {
    this.#isReachable = isReachable;
    if (!isReachable) for (const call of this.#batches.keys()) this.#settle(call);
  }

  #settle(call: number, outcomes: readonly InboxOutcome[] = []): void {
    const batch = this.#batches.get(call);
    if (batch === undefined) return;
    this.#batches.delete(call);
    const { resolves, bytes, late } = batch;
    late.cancel();
    this.#count -= resolves.length;
    this.#bytes -= bytes;
    for (const [at, resolve] of resolves.entries()) resolve(outcomes[at] ?? "unavailable");
  }
}

/** Returns webhooks in the form in which they cross. */
export function packWebhooks(items: readonly Pick<Item, "message" | "body">[]): {
  readonly messages: string;
  readonly payloads: Uint8Array<ArrayBuffer>;
} {
  const heads: string[] = [];
  const sizes: number[] = [];
  const messages: PackedWebhook[] = [];
  let total = 0;
  for (const { message, body } of items) {
    const { request, ...rest } = message;
    const head = JSON.stringify(request);
    const headBytes = Buffer.byteLength(head);
    const bytes = payloadBytes(headBytes, body.length);
    heads.push(head);
    sizes.push(headBytes);
    messages.push({ ...rest, method: request.method, source: request.source, bytes });
    total += bytes;
  }
  // Separate from Node's pool, because the buffer moves to the other thread.
  const payloads = Buffer.allocUnsafeSlow(total);
  let at = 0;
  for (const [index, { body }] of items.entries()) {
    writePayload(payloads, at, heads[index] as string, sizes[index] as number, body);
    at += (messages[index] as PackedWebhook).bytes;
  }
  return { messages: JSON.stringify(messages), payloads };
}
