import { equalsText, lowerByte } from "./bytes.ts";

/** Fields that framing, routing or forwarding use. Field tables store these numbers. */
export const known = {
  host: 1,
  "content-length": 2,
  "transfer-encoding": 3,
  connection: 4,
  upgrade: 5,
  expect: 6,
  te: 7,
  trailer: 8,
  "keep-alive": 9,
  "proxy-connection": 10,
  "proxy-authorization": 11,
  "proxy-authenticate": 12,
  "http2-settings": 13,
  "x-forwarded-for": 14,
  "x-forwarded-proto": 15,
  "x-forwarded-host": 16,
  "x-forwarded-port": 17,
  "x-request-id": 18,
  forwarded: 19,
  "x-real-ip": 20,
  "x-original-url": 21,
  "x-rewrite-url": 22,
  proxy: 23,
  "postern-error-code": 24,
  "ngrok-error-code": 25,
  "postern-agent-error": 26,
  "x-forwarded": 27,
  "x-forwarded-server": 28,
  "x-forwarded-prefix": 29,
  "x-original-host": 30,
  "x-original-forwarded-for": 31,
  "x-cluster-client-ip": 32,
  "x-client-ip": 33,
  "true-client-ip": 34,
  "x-forwarded-ssl": 35,
  "x-forwarded-scheme": 36,
  "x-forwarded-by": 37,
  "x-forwarded-uri": 38,
  "x-forwarded-method": 39,
  "x-forwarded-path": 40,
  "x-original-uri": 41,
  "x-original-method": 42,
  "x-http-host-override": 43,
  "x-host": 44,
  "front-end-https": 45,
} as const;

/** Indexed by number; [0] is unused. */
export const knownNames: readonly string[] = ["", ...Object.keys(known)];

const slots = 1024;
const multipliers = findMultipliers();
const slotOf = fillSlots(...multipliers);

/** Returns the number of a field name, or 0 if it is not in `known`. */
export function findKnownField(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < 2) return 0;
  const id = slotOf[
    hashSlot(
      end - start,
      lowerByte[bytes[start] as number] as number,
      lowerByte[bytes[end - 2] as number] as number,
      lowerByte[bytes[end - 1] as number] as number,
      multipliers[0],
      multipliers[1],
    )
  ] as number;
  return id !== 0 && equalsText(bytes, start, end, knownNames[id] as string) ? id : 0;
}

function hashSlot(length: number, first: number, lastButOne: number, last: number, a: number, b: number): number {
  return (length * a + first * b + lastButOne * 31 + last * 7) & (slots - 1);
}

/** Finds multipliers under which no two known names share a slot. */
function findMultipliers(): readonly [number, number] {
  for (let a = 1; a < 512; a += 2) {
    for (let b = 1; b < 512; b += 2) {
      if (new Set(knownNames.slice(1).map((name) => slotOfName(name, a, b))).size === knownNames.length - 1) {
        return [a, b];
      }
    }
  }
  throw new Error("lay out the known field names: no multipliers without collision");
}

function fillSlots(a: number, b: number): Uint8Array {
  const table = new Uint8Array(slots);
  for (const [id, name] of knownNames.entries()) if (id > 0) table[slotOfName(name, a, b)] = id;
  return table;
}

function slotOfName(name: string, a: number, b: number): number {
  const at = (index: number): number => name.charCodeAt(index);
  return hashSlot(name.length, at(0), at(name.length - 2), at(name.length - 1), a, b);
}
