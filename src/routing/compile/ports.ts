import { isInternalKey } from "../../lib/internal-names.ts";
import { parsePort } from "../../lib/hostport.ts";
import type { ResourceObject } from "../../schema/object.ts";
import { docOf } from "../../schema/doc.ts";
import { reservedAddr } from "../../resources/reserved-addr.ts";

/** Holders of ports of TCP addresses: edges that serve them, and reservations. */
export class Ports {
  readonly #serving = new Map<number, readonly ResourceObject[]>();
  readonly #reserved = new Map<number, readonly ResourceObject[]>();

  /** Applies a change of a `tcp_edge`. */
  serve(before: ResourceObject | undefined, after: ResourceObject | null): void {
    replacePorts(this.#serving, before, after, portsOf);
  }

  /** Applies a change of a `reserved_addr`. */
  reserve(before: ResourceObject | undefined, after: ResourceObject | null): void {
    replacePorts(this.#reserved, before, after, (reservation) => [parsePort(docOf(reservation, reservedAddr).addr)]);
  }

  /** Returns the edge or else the reservation of the port. */
  holder(port: number): ResourceObject | undefined {
    return this.#serving.get(port)?.at(-1) ?? this.#reserved.get(port)?.at(-1);
  }
}

/** Returns the public ports of an edge's hostports, without duplicates. */
export function portsOf({ doc }: Pick<ResourceObject, "doc">): readonly number[] {
  const given = Array.isArray(doc["hostports"]) ? (doc["hostports"] as string[]) : [];
  const hostports = given.filter((hostport) => !isInternalKey(hostport));
  return [...new Set(hostports.map(parsePort))].filter((port) => port > 0);
}

/** Endpoints with the same URL share their port. */
function replacePorts(
  map: Map<number, readonly ResourceObject[]>,
  before: ResourceObject | undefined,
  after: ResourceObject | null,
  ports: (object: ResourceObject) => readonly number[],
): void {
  for (const port of before ? ports(before) : []) {
    const rest = map.get(port)?.filter(({ id }) => id !== before?.id) ?? [];
    if (rest.length > 0) map.set(port, rest);
    else map.delete(port);
  }
  for (const port of after ? ports(after) : []) map.set(port, [...(map.get(port) ?? []), after as ResourceObject]);
}
