import type { HelloFacts } from "../../traffic/exchange.ts";
import { ja4Of } from "./ja4.ts";
import type { HelloOffer } from "./ja4.ts";

/** A ClientHello that came. Its fingerprint is made when a rule asks for it: it costs a hundredth of a handshake. */
export class SeenHello implements HelloFacts {
  readonly serverName: string;
  readonly alpn: readonly string[];
  readonly #offer: HelloOffer;
  #ja4: string | undefined;

  constructor(hello: HelloOffer & Pick<HelloFacts, "serverName">) {
    this.serverName = hello.serverName;
    this.alpn = hello.alpn;
    this.#offer = hello;
  }

  get ja4(): string {
    return (this.#ja4 ??= ja4Of(this.#offer));
  }
}
