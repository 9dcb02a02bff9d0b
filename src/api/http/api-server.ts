/** The management API over HTTP: connects all steps of a request. */
import type { IncomingMessage } from "node:http";
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { Operation } from "../operation/call.ts";
import { makeAccess } from "./access.ts";
import type { KeyRing } from "./authenticate.ts";
import { baseUrlOf } from "./base-url.ts";
import { makeConnectionRefusals } from "./connection-refusals.ts";
import { makeCors } from "./cors.ts";
import { makeDispatch } from "./dispatch.ts";
import { newExchange } from "./api-exchange.ts";
import type { ApiExchange } from "./api-exchange.ts";
import type { Front } from "./front.ts";
import { makeInnerCalls } from "./inner-calls.ts";
import type { RunInner } from "./inner-calls.ts";
import { startListener } from "./api-listener.ts";
import type { ApiListener } from "./api-listener.ts";
import { operationIds } from "./operation-ids.ts";
import { makeResponder } from "./respond.ts";
import { makeStoppedOperations } from "./stopped-operations.ts";
import type { SourceRestriction } from "./source-restriction.ts";

export interface ServerOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** Base of every URI in responses, without a trailing slash. Default: the base of the request. */
  readonly apiUrl?: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly keys: KeyRing;
  readonly restriction: SourceRestriction;
  readonly operations: readonly Operation[];
  /** The console, if enabled. */
  readonly front?: Front;
  /** Makes the entrances before the console, such as MCP, which call operations. */
  entrancesWith(run: RunInner): readonly Front["reply"][];
  /** Origins whose pages may call the API, as browsers send them. */
  readonly origins: readonly string[];
  readonly limits: ApiLimits;
  /** Marks of operations that hung in earlier runs. Default: none. */
  readonly refused?: ReadonlySet<number> | undefined;
  /** Returns the URI of an object that an error names, if the account may see it. */
  uriOf(accountId: string, kind: string, id: string, baseUrl: string): string | undefined;
}

export interface ApiLimits {
  /** Maximum number of requests per minute and API key. */
  readonly requestsPerMinute: number;
  /** Maximum number of attempts with a wrong key, per minute and source address. */
  readonly wrongKeysPerMinute: number;
  readonly maxConnections: number;
}

/** Rejects if the address is in use. */
export async function startServer(options: ServerOptions): Promise<ApiListener> {
  const { clock, log, operations, limits, apiUrl } = options;
  const offered = [...new Set(operations.map(({ method }) => method)), "HEAD", "OPTIONS"].join(", ");
  const cors = makeCors(options.origins, offered);
  const base = { cors, baseUrlOf: (request: IncomingMessage) => apiUrl ?? baseUrlOf(request) };
  const count = countResponses(options.metrics);
  const nextOperationId = operationIds(clock);
  const connectionRefusals = makeConnectionRefusals(nextOperationId, count, offered);
  const { send, fail } = makeResponder({
    ...base,
    log,
    clock,
    requestsPerMinute: limits.requestsPerMinute,
    count,
    uriOf: (...named) => options.uriOf(...named),
  });
  const stopped = makeStoppedOperations(options.refused ?? new Set(), clock);
  const entrances = options.entrancesWith(makeInnerCalls(operations, stopped));
  const dispatch = makeDispatch({ ...base, ...options, offered, access: makeAccess(options), stopped, entrances });

  const answer = (exchange: ApiExchange): void => {
    try {
      const reply = dispatch(exchange);
      if (!(reply instanceof Promise)) return send(exchange, reply);
      const sent = reply.then((done) => done && send(exchange, done));
      runUnattended(
        "exchange",
        sent.catch((error: unknown) => fail(exchange, error)),
      );
    } catch (error) {
      fail(exchange, error);
    }
  };

  const listener = await startListener({
    listen: options.listen,
    maxConnections: limits.maxConnections,
    clock,
    log,
    connectionRefusals,
    handle(request, response, expectsContinue) {
      connectionRefusals.began(request, response);
      answer(newExchange(request, response, expectsContinue, nextOperationId()));
    },
  });
  return {
    address: listener.address,
    drain: () => listener.drain(),
    stop() {
      options.front?.stop();
      return listener.stop();
    },
  };
}

/** Counts responses by the first digit of their status. */
function countResponses(metrics: Metrics): (status: number) => void {
  const groups = [1, 2, 3, 4, 5].map((group) =>
    metrics.counter("postern_api_responses_total", "Responses of the API.", { status: `${group}xx` }),
  );
  return (status) => groups[Math.floor(status / 100) - 1]?.add();
}
