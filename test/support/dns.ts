/**
 * A name server on the loopback. Every name resolves to 127.0.0.1. Names below `two.test` also resolve to ::1. Names
 * below `nowhere.test` do not exist, and queries below `silent.test` get no answer.
 */
import { createSocket } from "node:dgram";
import { once } from "node:events";

export interface TestDns {
  /** `host:port`. */
  readonly address: string;
  /** TXT records by lower-case name: one text each, or the strings in which it is sent. */
  readonly texts: Map<string, readonly (string | readonly string[])[]>;
  /** Addresses of names, and of wildcards such as `*.a.test`; each query takes the first, until one is left. */
  readonly addresses: Map<string, string[]>;
  /** Requested names, once for each query of IPv4 addresses. */
  readonly queries: string[];
  stop(): Promise<void>;
}

const typeA = 1;
const typeTxt = 16;
const typeAaaa = 28;
const nameError = 3;

export async function startDns(): Promise<TestDns> {
  const socket = createSocket("udp4");
  const texts: TestDns["texts"] = new Map();
  const queries: string[] = [];
  const addresses: TestDns["addresses"] = new Map();
  socket.on("message", (query, { address, port }) => {
    const { name, type } = questionOf(query);
    if (type === typeA) queries.push(name);
    if (!name.endsWith("silent.test")) socket.send(answer(query, { texts, addresses }), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    address: `127.0.0.1:${socket.address().port}`,
    texts,
    addresses,
    queries,
    async stop() {
      socket.close();
      await once(socket, "close");
    },
  };
}

/** RFC 1035 §4.1: one question, repeated, and an answer for types A and TXT. */
function answer(query: Buffer, { texts, addresses }: Pick<TestDns, "texts" | "addresses">): Buffer {
  const { name, type, end } = questionOf(query);
  const question = query.subarray(12, end);
  const given = addresses.get(name) ?? addresses.get(`*${name.slice(name.indexOf("."))}`);
  const isUnknown = name.endsWith("nowhere.test") && !given;
  const records: Buffer[] = [];
  if (type === typeA && !isUnknown) {
    const address = (given && given.length > 1 ? given.shift() : given?.[0]) ?? "127.0.0.1";
    records.push(record(typeA, address.split(".").map(Number)));
  }
  if (type === typeAaaa && name.endsWith("two.test")) {
    records.push(record(typeAaaa, [...Array<number>(15).fill(0), 1]));
  }
  if (type === typeTxt) for (const text of texts.get(name) ?? []) records.push(record(typeTxt, txt(text)));
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | (isUnknown ? nameError : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, question, ...records]);
}

function questionOf(query: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  let at = 12;
  const labels: string[] = [];
  while (query[at] !== 0) {
    const length = query[at] as number;
    labels.push(query.toString("latin1", at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  return { name: labels.join("."), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** Builds a record: the name by reference, type, class IN, 60 s, and the data with its length. */
function record(type: number, data: readonly number[]): Buffer {
  return Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, data.length >> 8, data.length & 0xff, ...data]);
}

/** RFC 1035 §3.3.14: character strings of up to 255 bytes. */
function txt(text: string | readonly string[]): number[] {
  return [text].flat().flatMap((part) => [Buffer.byteLength(part), ...Buffer.from(part)]);
}
