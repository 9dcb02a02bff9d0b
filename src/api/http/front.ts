/** What stands in front of the API on its listener: pages, and callers that come with a session instead of a key. */
import type { IncomingMessage } from "node:http";
import type { Refusal } from "../../lib/errors.ts";
import type { Reply } from "../operation/call.ts";
import type { Key } from "./authenticate.ts";
import type { Exchange } from "./exchange.ts";

export interface FrontReply {
  /** It tries a credential: how often that may be is bounded. */
  readonly byKey?: boolean;
  /** Answers a refusal by another way than the API has, once it was counted. */
  refused?(refusal: Refusal): Reply;
  /**
   * Undefined: it has been answered. Where it tells or does something on behalf of a key, `admit` is called first: it
   * throws for sources and rates that the API would refuse.
   */
  run(admit: (key: Key) => void): Promise<Reply | undefined>;
}

export interface Front {
  /** Undefined for what is the API's. Throws `Refusal`. @param path without the query */
  reply(exchange: Exchange, path: string, baseUrl: string): FrontReply | undefined;
  /** Whose session the request comes with; undefined when it comes with none. Throws `Refusal`. */
  keyOf(request: IncomingMessage, baseUrl: string): Key | undefined;
  /** Session that another server may have opened a moment ago; undefined where there is nothing to wait for. */
  awaited(request: IncomingMessage, baseUrl: string): Promise<unknown> | undefined;
  /** Ends what is answered for as long as it goes. */
  stop(): void;
}
