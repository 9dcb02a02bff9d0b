/** A name server that accepts dynamic updates (RFC 2136) with a TSIG key, over TCP. */
import { randomInt } from "node:crypto";
import { connect } from "node:net";
import type { Clock } from "../../../lib/clock.ts";
import { lookupName } from "../../../outbound/address-rules.ts";
import { providerProblem, recordTtl } from "../dns-provider.ts";
import type { DnsRecord, ProviderKind } from "../dns-provider.ts";
import { readSigned, signMessage } from "../tsig.ts";
import type { TsigKey } from "../tsig.ts";
import { encodeUint16, encodeUint32, wireName } from "../dns-wire.ts";

const timeoutMs = 10_000;
const typeSoa = 6;
const typeTxt = 16;
const classIn = 1;
const classNone = 254;
const opcodeUpdate = 5 << 11;

/** RFC 2136 §2.2 and RFC 8945 §5.2. */
const responseCodes: Readonly<Record<number, string>> = {
  1: "FORMERR: it does not understand the update",
  2: "SERVFAIL: it failed, see its log",
  4: "NOTIMP: it does not support updates",
  5: "REFUSED: it does not allow this key to update the zone",
  6: "YXDOMAIN",
  8: "NXRRSET",
  9: "NOTAUTH: it is not the primary server of the zone, or does not know the key",
  10: "NOTZONE: the name is not in the zone",
};
const signatureErrors: Readonly<Record<number, string>> = {
  16: "BADSIG: the secret of the key is wrong",
  17: "BADKEY: it does not know the key or its algorithm",
  18: "BADTIME: its clock and this server's differ by more than 5 minutes",
  22: "BADTRUNC",
};

export const rfc2136: ProviderKind = {
  needs: ["server", "key", "secret"],
  takes: ["algorithm"],
  open({ server, key = "", secret = "", algorithm = "hmac-sha256" }, clock) {
    const tsig: TsigKey = { name: keyName(key), algorithm, secret: keySecret(secret) };
    const { host, port } = server as { host: string; port: number };
    const update = async (record: DnsRecord, change: Buffer): Promise<void> => {
      const message = updateMessage(record, change);
      const { message: signed, mac } = signMessage(message, tsig, clock.now());
      const answer = await sendUpdate({ host, port, clock }, signed);
      checkAnswer(answer, { at: `${host}:${port}`, id: message.readUInt16BE(0), mac, tsig, now: clock.now() });
    };
    return {
      present: (record) => update(record, recordOf(record, classIn, recordTtl)),
      cleanup: (record) => update(record, recordOf(record, classNone, 0)),
    };
  },
};

function keyName(text: string): string {
  try {
    wireName(text);
  } catch (error) {
    throw new Error("--acme-dns-key must be the name of the TSIG key", { cause: error });
  }
  return text;
}

function keySecret(text: string): Buffer {
  const secret = Buffer.from(text, "base64");
  // The least of BIND's generator, tsig-keygen, is 16 bytes.
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) || secret.length < 16) {
    throw new Error("--acme-dns-secret must be the TSIG key's secret in base 64, at least 16 bytes");
  }
  return secret;
}

/** RFC 2136 §2.3–2.5: one zone, no prerequisites, one change. */
function updateMessage({ zone }: DnsRecord, change: Buffer): Buffer {
  const header = encodeUint16(randomInt(65_536), opcodeUpdate, 1, 0, 1, 0);
  return Buffer.concat([header, wireName(zone), encodeUint16(typeSoa, classIn), change]);
}

function recordOf({ name, value }: DnsRecord, klass: number, ttl: number): Buffer {
  const text = Buffer.from(value, "latin1");
  const data = Buffer.concat([Buffer.of(text.length), text]);
  return Buffer.concat([
    wireName(name),
    encodeUint16(typeTxt, klass),
    encodeUint32(ttl),
    encodeUint16(data.length),
    data,
  ]);
}

interface ExpectedAnswer {
  readonly at: string;
  readonly id: number;
  readonly mac: Buffer;
  readonly tsig: TsigKey;
  readonly now: number;
}

function checkAnswer(answer: Buffer, { at, id, mac, tsig, now }: ExpectedAnswer): void {
  let read: ReturnType<typeof readSigned>;
  try {
    if (answer.readUInt16BE(0) !== id) throw new RangeError("the message has another id");
    read = readSigned(answer, mac, tsig, now);
  } catch (error) {
    throw providerProblem(`the name server ${at} sent a malformed answer`, { cause: error });
  }
  const { responseCode, signatureError, isAuthentic } = read;
  if (signatureError !== 0) {
    throw providerProblem(
      `the name server ${at} rejects the update: ${signatureErrors[signatureError] ?? `TSIG error ${signatureError}`}`,
    );
  }
  if (responseCode !== 0) {
    const why = responseCodes[responseCode] ?? `response code ${responseCode}`;
    throw providerProblem(`the name server ${at} rejects the update: ${why}`);
  }
  if (!isAuthentic) throw providerProblem(`the answer of the name server ${at} is not signed with the TSIG key`);
}

/** RFC 1035 §4.2.2: each message follows its length. */
async function sendUpdate(
  { host, port, clock }: { readonly host: string; readonly port: number; readonly clock: Clock },
  message: Buffer,
): Promise<Buffer> {
  const socket = connect({ host, port, lookup: lookupName });
  const timer = clock.after(timeoutMs, () => socket.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
  try {
    socket.write(Buffer.concat([encodeUint16(message.length), message]));
    let read = Buffer.alloc(0);
    for await (const piece of socket as AsyncIterable<Buffer>) {
      read = Buffer.concat([read, piece]);
      const length = read.length < 2 ? Number.POSITIVE_INFINITY : read.readUInt16BE(0);
      if (read.length >= length + 2) return read.subarray(2, length + 2);
    }
    throw new Error("the connection closed without an answer");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw providerProblem(`the name server ${host}:${port} does not answer: ${reason}`, { cause: error });
  } finally {
    timer.cancel();
    socket.destroy();
  }
}
