/** Interface of what precedes the API on its listener: pages, and callers with a session instead of an API key. */
import type { IncomingMessage } from "node:http";
import type { Refusal } from "../../lib/errors.ts";
import type { Reply } from "../operation/call.ts";
import type { Key } from "./authenticate.ts";
import type { ApiExchange } from "./api-exchange.ts";

export interface FrontReply {
  /** Whether the request tries a credential, so that it is rate-limited. */
  readonly byKey?: boolean;
  /** Returns another response for a refusal than the API does, after the refusal was counted. */
  refused?(refusal: Refusal): Reply;
  /**
   * Resolves with undefined if the response was already sent. Before it returns data or acts for a key, it calls
   * `admit`. `admit` throws for sources and rates that the API would reject.
   */
  run(admit: (key: Key) => void): Promise<Reply | undefined>;
}

export interface Front {
  /**
   * Returns undefined if the path belongs to the API. Throws `Refusal`.
   * @param path without the query
   */
  reply(exchange: ApiExchange, path: string, baseUrl: string): FrontReply | undefined;
  /** Returns the key of the request's session. Undefined without a session. Throws `Refusal`. */
  keyOf(request: IncomingMessage, baseUrl: string): Key | undefined;
  /** Waits for a session that another server may have just opened. Undefined if there is nothing to wait for. */
  awaited(request: IncomingMessage, baseUrl: string): Promise<unknown> | undefined;
  /** Ends long-lived responses. */
  stop(): void;
}
