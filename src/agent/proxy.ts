/** Connects to the server through a proxy: HTTP CONNECT (RFC 9110 §9.3.6) or SOCKS 5 (RFC 1928). */
import { connect as connectTcp, isIP, isIPv6 } from "node:net";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { readAddress } from "../lib/address.ts";

/** Longest accepted answer of a proxy, bytes. */
const maxAnswer = 16_384;

const usualPort: Readonly<Record<string, number>> = { "http:": 80, "https:": 443, "socks5:": 1080, "socks5h:": 1080 };

/** Thrown when a proxy refuses the connection. A retry may succeed. */
export class ProxyError extends Error {}

/**
 * Opens a connection to `host:port` through a proxy, which resolves the name.
 *
 * @param proxy an `http:`, `https:` or `socks5:` URL, with user and password if the proxy requires them
 * @param opened receives the socket immediately, so that the caller can end it during the negotiation
 * @throws ProxyError with the proxy's answer
 */
export async function connectThrough(
  proxy: URL,
  { host, port }: { readonly host: string; readonly port: number },
  opened: (socket: Socket) => void,
): Promise<Socket> {
  const at = {
    host: proxy.hostname.replace(/^\[|\]$/g, ""),
    port: Number(proxy.port) || (usualPort[proxy.protocol] as number),
  };
  const secure = proxy.protocol === "https:";
  const socket = secure ? connectTls(isIP(at.host) ? at : { ...at, servername: at.host }) : connectTcp(at);
  opened(socket);
  const answers = new Answers(socket, `${at.host}:${at.port}`);
  try {
    await answers.connected(secure ? "secureConnect" : "connect");
    if (proxy.protocol.startsWith("socks")) await askSocks(socket, answers, proxy, host, port);
    else await askHttp(socket, answers, proxy, `${isIPv6(host) ? `[${host}]` : host}:${port}`);
  } catch (error) {
    socket.destroy();
    throw error;
  }
  answers.release();
  return socket;
}

async function askHttp(socket: Socket, answers: Answers, proxy: URL, target: string): Promise<void> {
  const lines = [`CONNECT ${target} HTTP/1.1`, `Host: ${target}`];
  const { user, password } = credentialsOf(proxy);
  if (user !== "") {
    lines.push(`Proxy-Authorization: Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`);
  }
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  const head = await answers.through("\r\n\r\n");
  const [, status = ""] = /^HTTP\/1\.[01] (\d{3})/.exec(head) ?? [];
  if (status.startsWith("2")) return;
  const why = status === "" ? "something that is not HTTP" : status === "407" ? "407: it requires credentials" : status;
  throw new ProxyError(`the proxy ${proxy.host} answered ${why}`);
}

const socksErrors = [
  "",
  "a general failure",
  "that its rules do not allow the connection",
  "that the network cannot be reached",
  "that the server cannot be reached",
  "that nothing listens there",
  "that it took too long",
  "that it does not know the command",
  "that it does not know this kind of address",
];

async function askSocks(socket: Socket, answers: Answers, proxy: URL, host: string, port: number): Promise<void> {
  const { user, password } = credentialsOf(proxy);
  const refusal = (why: string): ProxyError => new ProxyError(`the proxy ${proxy.host} answered ${why}`);
  socket.write(Buffer.from(user === "" ? [5, 1, 0] : [5, 2, 0, 2]));
  const [version, method] = await answers.bytes(2);
  if (version !== 5) throw refusal("something that is not SOCKS 5");
  if (method === 2) {
    const [name, word] = [Buffer.from(user), Buffer.from(password)];
    socket.write(Buffer.concat([Buffer.from([1, name.length]), name, Buffer.from([word.length]), word]));
    const [, status] = await answers.bytes(2);
    if (status !== 0) throw refusal("that it rejects these credentials");
  } else if (method !== 0) throw refusal("that it requires credentials");
  socket.write(Buffer.concat([Buffer.from([5, 1, 0]), socksAddress(host), Buffer.from([port >> 8, port & 255])]));
  const [, reply = 1, , kind = 1] = await answers.bytes(4);
  if (reply !== 0) throw refusal(socksErrors[reply] ?? `error ${reply}`);
  const [length = 0] = kind === 3 ? await answers.bytes(1) : [kind === 4 ? 16 : 4];
  await answers.bytes(length + 2);
}

/** Address type and address of RFC 1928 §5. The proxy resolves names. */
function socksAddress(host: string): Buffer {
  const words = new Uint32Array(4);
  const family = isIP(host) === 0 ? 0 : readAddress(host, words);
  if (family === 0) return Buffer.concat([Buffer.from([3, Buffer.byteLength(host)]), Buffer.from(host)]);
  const bytes = Buffer.alloc(family === 4 ? 4 : 16);
  for (let at = 0; at * 4 < bytes.length; at += 1) bytes.writeUInt32BE(words[at] as number, at * 4);
  return Buffer.concat([Buffer.from([family === 4 ? 1 : 4]), bytes]);
}

function credentialsOf({ username, password }: URL) {
  return { user: decodeURIComponent(username), password: decodeURIComponent(password) };
}

/** Reads the proxy's answers. Bytes after them are left for the next reader. */
class Answers {
  readonly #socket: Socket;
  readonly #proxy: string;
  #held: Buffer = Buffer.alloc(0);
  #failure: Error | undefined;
  #wake: () => void = () => {};

  constructor(socket: Socket, proxy: string) {
    this.#socket = socket;
    this.#proxy = proxy;
    socket.on("error", this.#failed);
    socket.on("close", this.#closed);
  }

  async connected(event: "connect" | "secureConnect"): Promise<void> {
    const connected = new Promise<void>((resolve) => this.#socket.once(event, () => resolve()));
    await Promise.race([connected, this.#next()]);
    if (this.#failure) throw this.#failure;
    this.#socket.on("data", this.#taken);
  }

  /** Reads the next `count` bytes. */
  async bytes(count: number): Promise<Buffer> {
    while (this.#held.length < count) await this.#next();
    const taken = this.#held.subarray(0, count);
    this.#held = this.#held.subarray(count);
    return taken;
  }

  /** Reads text up to and including `end`. */
  async through(end: string): Promise<string> {
    for (;;) {
      const at = this.#held.indexOf(end, 0, "latin1");
      if (at >= 0) return (await this.bytes(at + end.length)).toString("latin1");
      if (this.#held.length > maxAnswer) throw new ProxyError(`the answer of the proxy ${this.#proxy} is too long`);
      await this.#next();
    }
  }

  release(): void {
    this.#socket.off("data", this.#taken).off("error", this.#failed).off("close", this.#closed);
    this.#socket.pause();
    if (this.#held.length > 0) this.#socket.unshift(this.#held);
  }

  async #next(): Promise<void> {
    if (this.#failure) throw this.#failure;
    await new Promise<void>((resolve) => (this.#wake = resolve));
    if (this.#failure) throw this.#failure;
  }

  readonly #taken = (bytes: Buffer): void => {
    this.#held = Buffer.concat([this.#held, bytes]);
    this.#wake();
  };
  readonly #failed = (error: Error): void => {
    this.#failure ??= new ProxyError(`cannot reach the proxy ${this.#proxy}: ${error.message}`, { cause: error });
    this.#wake();
  };
  readonly #closed = (): void => {
    this.#failure ??= new ProxyError(`the proxy ${this.#proxy} closed the connection`);
    this.#wake();
  };
}
