/** Attributes that many requests share, encoded once for all of them. */
import type { TrafficId } from "../../lib/traffic-ids.ts";
import { trafficIdLength } from "../../lib/traffic-ids.ts";
import type { ServingTunnel } from "../../routing/planes/questions.ts";
import { ProtoWriter } from "../../telemetry/proto-writer.ts";
import { spanAttribute, spanAttributes } from "../../telemetry/span.ts";
import type { ConnectionFacts } from "../../traffic/exchange.ts";
import type { FinishedExchange } from "../http/context.ts";

/** Methods that a span may have in its name (RFC 9110 and RFC 5789). */
export const methods = new Set(["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"]);

/** Maximum length of a user agent. */
const maxAgent = 500;

interface OfConnection {
  readonly method: string;
  readonly host: string;
  readonly agent: string | undefined;
  readonly routeId: string | undefined;
  readonly siteId: string | undefined;
  readonly encoded: Uint8Array;
}

export class SteadyAttributes {
  /** The requests of a connection mostly have the same host, client and route. */
  readonly #ofConnections = new WeakMap<ConnectionFacts, OfConnection>();
  readonly #ofTunnels = new WeakMap<ServingTunnel, Uint8Array>();
  readonly #writer = new ProtoWriter();

  ofRequest(exchange: FinishedExchange): Uint8Array {
    const { connection, method, host, routeId, siteId } = exchange;
    const agent = exchange.request.headers.get("user-agent");
    const known = this.#ofConnections.get(connection);
    if (
      known?.method === method &&
      known.host === host &&
      known.agent === agent &&
      known.routeId === routeId &&
      known.siteId === siteId
    ) {
      return known.encoded;
    }
    const encoded = this.#encodeRequest(exchange, agent);
    this.#ofConnections.set(connection, { method, host, agent, routeId, siteId, encoded });
    return encoded;
  }

  ofTunnel(tunnel: ServingTunnel): Uint8Array {
    const known = this.#ofTunnels.get(tunnel);
    if (known !== undefined) return known;
    spanAttributes(this.#writer, {
      "postern.tunnel.id": tunnel.id,
      "postern.session.id": tunnel.sessionId,
      "postern.forwards_to": tunnel.forwardsTo,
    });
    const encoded = this.#writer.take();
    this.#ofTunnels.set(tunnel, encoded);
    return encoded;
  }

  #encodeRequest(exchange: FinishedExchange, agent: string | undefined): Uint8Array {
    const { method, host, request, connection } = exchange;
    spanAttributes(this.#writer, {
      "http.request.method": methods.has(method) ? method : "_OTHER",
      "http.request.method_original": methods.has(method) ? undefined : method,
      "url.scheme": request.scheme,
      "server.address": host === "" ? undefined : host,
      "server.port": connection.localPort,
      "client.address": connection.source,
      "client.port": connection.sourcePort || undefined,
      "network.protocol.name": "http",
      "network.protocol.version": request.httpVersion,
      "user_agent.original": agent?.slice(0, maxAgent),
      "postern.account.id": exchange.accountId,
      "postern.site.id": exchange.siteId,
      "postern.route.id": exchange.routeId,
    });
    return this.#writer.take();
  }
}

const exampleId = "x".repeat(trafficIdLength);
/** The attribute of a request's id, without the id at its end. */
export const requestIdAttribute = ((): Uint8Array => {
  const writer = new ProtoWriter();
  spanAttribute(writer, "postern.request.id", exampleId);
  return writer.take().slice(0, -trafficIdLength);
})();

/** Writes an id without creating its text. @param attribute as `requestIdAttribute` */
export function putId(to: ProtoWriter, attribute: Uint8Array, id: TrafficId): void {
  to.raw(attribute);
  to.write(trafficIdLength, (bytes, at) => id.write(bytes, at));
}
