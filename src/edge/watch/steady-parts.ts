/** What many spans share, encoded once for all of them. */
import type { TrafficId } from "../../lib/traffic-ids.ts";
import { trafficIdLength } from "../../lib/traffic-ids.ts";
import type { ServingTunnel } from "../../routing/planes/edge-questions.ts";
import { ProtoWriter } from "../../telemetry/proto-writer.ts";
import { spanAttribute, spanAttributes, spanKind } from "../../telemetry/span.ts";
import type { FinishedExchange } from "../http/http-context.ts";

/** Methods that a span may have in its name (RFC 9110 and RFC 5789). */
export const methods = new Set(["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"]);

/** Maximum length of a user agent. */
const maxAgent = 500;

/**
 * Number of clients whose parts are stored, by their port. A map by connection would cost as much as writing the ids of
 * a span.
 */
const slots = 256;

interface OfClient {
  readonly source: string;
  readonly sourcePort: number;
  readonly localPort: number;
  readonly httpVersion: string;
  readonly scheme: string;
  readonly method: string;
  readonly host: string;
  readonly agent: string | undefined;
  readonly accountId: string | undefined;
  readonly siteId: string | undefined;
  readonly routeId: string | undefined;
  readonly encoded: Uint8Array;
}

interface OfTunnel {
  readonly method: string;
  readonly status: number | undefined;
  readonly encoded: Uint8Array;
}

/** Key of what was sent without a tunnel. */
const noTunnel = {};

export class SteadyParts {
  /** The requests of a client mostly have the same host and route. */
  readonly #ofClients: (OfClient | undefined)[] = Array.from({ length: slots });
  readonly #ofTunnels = new WeakMap<object, OfTunnel>();
  readonly #ofStatuses = new Map<number, Uint8Array>();
  readonly #writer = new ProtoWriter();

  /** Name, kind and attributes of a request's span. */
  ofRequest(exchange: FinishedExchange): Uint8Array {
    const { source, sourcePort, localPort } = exchange.connection;
    const { scheme, httpVersion, headers } = exchange.request;
    const { method, host, accountId, siteId, routeId } = exchange;
    const agent = headers.get("user-agent");
    const slot = sourcePort % slots;
    const known = this.#ofClients[slot];
    if (
      known?.sourcePort === sourcePort &&
      known.source === source &&
      known.localPort === localPort &&
      known.httpVersion === httpVersion &&
      known.scheme === scheme &&
      known.method === method &&
      known.host === host &&
      known.agent === agent &&
      known.accountId === accountId &&
      known.siteId === siteId &&
      known.routeId === routeId
    ) {
      return known.encoded;
    }
    const ofBoth = { source, sourcePort, localPort, httpVersion, scheme };
    const encoded = this.#encodeRequest(exchange, agent);
    this.#ofClients[slot] = { ...ofBoth, method, host, agent, accountId, siteId, routeId, encoded };
    return encoded;
  }

  /** Attributes of a request with the response of an upstream. */
  ofForwarded(status: number): Uint8Array {
    let encoded = this.#ofStatuses.get(status);
    if (encoded === undefined) {
      spanAttributes(this.#writer, { "http.response.status_code": status, "postern.outcome": "forwarded" });
      encoded = this.#writer.take();
      this.#ofStatuses.set(status, encoded);
    }
    return encoded;
  }

  /** Name, kind and attributes of a forwarding's span. @param status of the upstream's response, if it has responded */
  ofForwarding(tunnel: ServingTunnel | undefined, method: string, status: number | undefined): Uint8Array {
    const key = tunnel ?? noTunnel;
    const known = this.#ofTunnels.get(key);
    if (known?.method === method && known.status === status) return known.encoded;
    spanKind(this.#writer, tunnel === undefined ? "upstream" : "tunnel", "client");
    spanAttributes(this.#writer, {
      "http.request.method": methods.has(method) ? method : "_OTHER",
      "http.response.status_code": status,
      "postern.tunnel.id": tunnel?.id,
      "postern.session.id": tunnel?.sessionId,
      "postern.forwards_to": tunnel?.forwardsTo,
    });
    const encoded = this.#writer.take();
    this.#ofTunnels.set(key, { method, status, encoded });
    return encoded;
  }

  #encodeRequest(exchange: FinishedExchange, agent: string | undefined): Uint8Array {
    const { method, host, request, connection } = exchange;
    spanKind(this.#writer, methods.has(method) ? method : "HTTP", "server");
    spanAttributes(this.#writer, {
      "http.request.method": methods.has(method) ? method : "_OTHER",
      "http.request.method_original": methods.has(method) ? undefined : method,
      "url.scheme": request.scheme,
      "server.address": host === "" ? undefined : host,
      "server.port": connection.localPort,
      "client.address": connection.source,
      "client.port": connection.sourcePort || undefined,
      "network.protocol.version": request.httpVersion,
      "user_agent.original": agent?.slice(0, maxAgent),
      "postern.account.id": exchange.accountId,
      "postern.site.id": exchange.siteId,
      "postern.route.id": exchange.routeId,
    });
    return this.#writer.take();
  }
}

/** The attribute of a request's id, without the id at its end. */
const requestIdAttribute = ((): Uint8Array => {
  const writer = new ProtoWriter();
  spanAttribute(writer, "postern.request.id", "x".repeat(trafficIdLength));
  return writer.take().slice(0, -trafficIdLength);
})();

/** Writes the attribute without creating the id's text. */
export function putRequestId(to: ProtoWriter, id: TrafficId): void {
  to.raw(requestIdAttribute);
  id.write(to.room(trafficIdLength), to.length);
  to.wrote(trafficIdLength);
}
