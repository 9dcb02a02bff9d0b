import { discardingReceiver } from "../../lib/io/byte-stream.ts";
import type { ByteReceiver, ByteStream } from "../../lib/io/byte-stream.ts";
import type { ClientSide } from "./client-side.ts";

/** Interface of the exchange for the client's end of a converter. */
export interface ConvertedExchange {
  readonly isOver: boolean;
  /** If it returns false, the sender must wait for the receiver's `drained`. */
  sendBody(bytes: Buffer): boolean;
  upgradedEnd(): void;
  cut(): void;
}

/** An upgraded client as a byte stream for the route's converter. */
export class ConvertedClient implements ByteStream {
  receiver: ByteReceiver = discardingReceiver;
  readonly #exchange: ConvertedExchange;
  readonly #client: ClientSide;

  constructor(exchange: ConvertedExchange, client: ClientSide) {
    this.#exchange = exchange;
    this.#client = client;
  }

  write(bytes: Uint8Array): boolean {
    return (
      this.#exchange.isOver || this.#exchange.sendBody(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    );
  }

  writeLatin1(text: string): boolean {
    return this.#exchange.isOver || this.#exchange.sendBody(Buffer.from(text, "latin1"));
  }

  end(): void {
    if (!this.#exchange.isOver) this.#exchange.upgradedEnd();
  }

  abort(): void {
    if (!this.#exchange.isOver) this.#exchange.cut();
  }

  consumed(byteCount: number): void {
    this.#client.requestConsumed(byteCount);
  }
}
