/** Checks the SSH listener: who answers at its port, by which key, and whether a client can log in. */
import { generateKeyPairSync } from "node:crypto";
import { connect } from "node:net";
import type { Postern } from "../../../sdk/src/index.ts";
import { systemClock } from "../../lib/clock.ts";
import type { ListenAddress } from "../../settings/kinds/address.ts";
import { fingerprintOf } from "../../ssh/keys/public-key.ts";
import { readHostKey, withCertificate } from "../../ssh/keys/host-key.ts";
import type { HostKey } from "../../ssh/keys/host-key.ts";
import { numbers } from "../../ssh/numbers.ts";
import { encodeMessage, no, encodeString, encodeUint32, WireReader } from "../../ssh/ssh-wire.ts";
import { readFileSync } from "node:fs";
import { certificateProblemOf } from "../ssh/host-key-problem.ts";
import type { HostKeySettings } from "../ssh/host-key.ts";
import type { Finding } from "./finding.ts";

export interface SshCheck extends HostKeySettings {
  readonly sshListen: ListenAddress | undefined;
}

const timeoutMs = 10_000;
const maxAnswerBytes = 65_536;

/** Without an SSH listener there are no findings. */
export async function checkSsh(settings: SshCheck, api: Postern): Promise<readonly Finding[]> {
  const { sshListen } = settings;
  if (!sshListen) return [];
  const about = `SSH listener at port ${sshListen.port}`;
  const findings: Finding[] = [];
  let expected: HostKey | undefined;
  try {
    expected = keyOf(settings);
  } catch (error) {
    findings.push({ outcome: "wrong", about, message: (error as Error).message });
  }
  findings.push(await listenerFinding(about, sshListen, expected));
  const expiry = expected && certificateProblemOf(expected, systemClock.now());
  if (expiry !== undefined) findings.push({ outcome: "wrong", about, message: expiry });
  findings.push(await keysFinding(api));
  return findings;
}

/** Returns the key of the setting. Undefined if it follows from the server's secret, which commands do not read. */
function keyOf({ sshHostKey, sshHostCertificate }: HostKeySettings): HostKey | undefined {
  if (sshHostKey === undefined) return undefined;
  const key = read("--ssh-host-key", sshHostKey, readHostKey);
  if (sshHostCertificate === undefined) return key;
  return read("--ssh-host-certificate", sshHostCertificate, (line) => withCertificate(key, line));
}

function read<Made>(flag: string, path: string, make: (text: string) => Made): Made {
  try {
    return make(readFileSync(path, "utf8"));
  } catch (error) {
    throw new Error(`${flag} "${path}": ${(error as Error).message}`, { cause: error });
  }
}

async function listenerFinding(about: string, address: ListenAddress, expected: HostKey | undefined): Promise<Finding> {
  let answer: Answer;
  try {
    answer = await answerAt(address);
  } catch (error) {
    const fix = "start the server with --ssh-listen, and open the port in the firewall";
    return { outcome: "wrong", about, message: `no answer (${(error as Error).message}): ${fix}` };
  }
  const { version, fingerprint } = answer;
  if (!version.startsWith("SSH-2.0-Postern_")) {
    const who = version.startsWith("SSH-") ? `another SSH server (${version})` : "a program without SSH";
    return { outcome: "wrong", about, message: `${who} uses the port: choose another one with --ssh-listen` };
  }
  if (fingerprint === undefined) return { outcome: "warning", about, message: "answers, but shows no host key" };
  if (expected && expected.fingerprint !== fingerprint) {
    const message = `the server has the host key ${fingerprint}, but the file has ${expected.fingerprint}: restart the server to use the file. Clients then need the new key`;
    return { outcome: "warning", about, message };
  }
  return { outcome: "fine", about, message: `answers with the host key ${fingerprint}` };
}

async function keysFinding(api: Postern): Promise<Finding> {
  const about = "SSH keys";
  for await (const _ of api.sshCredentials.list({ limit: 1 })) return { outcome: "fine", about, message: "registered" };
  for await (const _ of api.sshCertificateAuthorities.list({ limit: 1 }))
    return { outcome: "fine", about, message: "an authority of certificates is registered" };
  const message = `the account has no public key, so no client can log in: add one in the console, or with postern api POST /ssh_credentials`;
  return { outcome: "warning", about, message };
}

interface Answer {
  /** First line, such as `SSH-2.0-OpenSSH_9.2`. */
  readonly version: string;
  /** Undefined if the server shows no key. */
  readonly fingerprint: string | undefined;
}

/** Begins a key exchange, in which the server shows its key. Nothing is proved. */
async function answerAt({ host, port }: ListenAddress): Promise<Answer> {
  const isAny = host === undefined || host === "0.0.0.0" || host === "::";
  const socket = connect({ port, host: isAny ? "127.0.0.1" : host });
  socket.setTimeout(timeoutMs, () => socket.destroy(new Error(`nothing within ${timeoutMs / 1000} s`)));
  let bytes = Buffer.alloc(0);
  const answer = (): Answer => {
    const end = bytes.indexOf("\n");
    const version = bytes.toString("latin1", 0, end < 0 ? bytes.length : end).trim();
    return { version, fingerprint: shownFingerprint(bytes.subarray(end + 1)) };
  };
  try {
    socket.write("SSH-2.0-PosternDoctor\r\n");
    let isBegun = false;
    for await (const piece of socket as AsyncIterable<Buffer>) {
      bytes = Buffer.concat([bytes, piece]);
      const { version, fingerprint } = answer();
      if (fingerprint !== undefined || !version.startsWith("SSH-") || bytes.length > maxAnswerBytes) break;
      if (!isBegun) socket.write(begin());
      isBegun = true;
    }
  } catch (error) {
    if (bytes.length === 0) throw error;
  } finally {
    socket.destroy();
  }
  if (bytes.length === 0) throw new Error("the connection was closed");
  return answer();
}

function begin(): Buffer {
  const { publicKey } = generateKeyPairSync("x25519");
  const own = Buffer.from(publicKey.export({ format: "jwk" }).x as string, "base64url");
  const hostKeys = "ssh-ed25519,rsa-sha2-512,ecdsa-sha2-nistp256";
  const lists = ["curve25519-sha256", hostKeys, "aes128-ctr", "aes128-ctr", "hmac-sha2-256", "hmac-sha2-256"];
  const names = [...lists, "none", "none", "", ""].map((one) => encodeString(one));
  return Buffer.concat([
    packet(encodeMessage(numbers.keyExchange, Buffer.alloc(16), ...names, no, encodeUint32(0))),
    packet(encodeMessage(numbers.exchangeInit, encodeString(own))),
  ]);
}

/** A packet before the first key exchange (RFC 4253 §6). */
function packet(payload: Buffer): Buffer {
  const padding = 16 - ((5 + payload.length) % 8);
  return Buffer.concat([
    encodeUint32(1 + payload.length + padding),
    Buffer.of(padding),
    payload,
    Buffer.alloc(padding),
  ]);
}

/** Returns the fingerprint of the key in the packets. Undefined if it has not arrived. */
function shownFingerprint(packets: Buffer): string | undefined {
  let at = 0;
  while (at + 6 <= packets.length) {
    const end = at + 4 + packets.readUInt32BE(at);
    if (end > packets.length) return undefined;
    if (packets[at + 5] === numbers.exchangeReply) {
      return fingerprintOf(new WireReader(packets.subarray(at + 6, end)).string());
    }
    at = end;
  }
  return undefined;
}
