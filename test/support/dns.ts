/** A name server on the loopback: every name leads to 127.0.0.1, except those below `nowhere.test`. */
import { createSocket } from "node:dgram";
import { once } from "node:events";

export interface TestDns {
  /** `host:port`. */
  readonly address: string;
  stop(): Promise<void>;
}

const typeA = 1;
const nameError = 3;

export async function startDns(): Promise<TestDns> {
  const socket = createSocket("udp4");
  socket.on("message", (query, { address, port }) => socket.send(answer(query), port, address));
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    address: `127.0.0.1:${socket.address().port}`,
    async stop() {
      socket.close();
      await once(socket, "close");
    },
  };
}

/** RFC 1035 §4.1: one question, repeated, and for type A its answer. */
function answer(query: Buffer): Buffer {
  let at = 12;
  const labels: string[] = [];
  while (query[at] !== 0) {
    const length = query[at] as number;
    labels.push(query.toString("latin1", at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  const question = query.subarray(12, at + 5);
  const isUnknown = labels.join(".").endsWith("nowhere.test");
  const records = !isUnknown && query.readUInt16BE(at + 1) === typeA ? 1 : 0;
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | (isUnknown ? nameError : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records, 6);
  // the name by reference, type A, class IN, 60 s, 4 bytes
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
  return Buffer.concat(records === 1 ? [header, question, record] : [header, question]);
}
