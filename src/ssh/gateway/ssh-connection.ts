/** One SSH client: its login, its forwards as endpoints of an agent session, and its terminal. */
import type { Socket } from "node:net";
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { ByteStream } from "../../lib/io/byte-stream.ts";
import { WindowReserve } from "../../lib/io/receive-window.ts";
import type { Log } from "../../lib/log.ts";
import { toVisibleLine } from "../../lib/visible-text.ts";
import type { ClientHandlers, ClientSession } from "../../tunnel/client-hooks.ts";
import { Goodbye } from "../../tunnel/mux/frame.ts";
import type { ProxiedHeader } from "../../tunnel/proxy-header.ts";
import type { Channel } from "../channels/channel.ts";
import { Channels } from "../channels/channels.ts";
import type { HostKey } from "../keys/host-key.ts";
import { UserLogin } from "../login/user-login.ts";
import type { ProvenKey } from "../login/user-login.ts";
import { numbers, reasons } from "../numbers.ts";
import { Transport } from "../transport/ssh-transport.ts";
import type { RekeyLimits } from "../transport/ssh-transport.ts";
import { encodeMessage, SshViolation, encodeString, encodeUint32, WireReader, yes } from "../ssh-wire.ts";
import type { OpenLink } from "./agent-link.ts";
import type { CommandWords } from "./forward-request.ts";
import { Forwards } from "./forwards.ts";
import { Terminal } from "./terminal.ts";
import { serveVisitor } from "./visitor.ts";

/** What the words after the host name mean. */
export type ReadWords = (text: string) => CommandWords | { readonly help: string } | { readonly problem: string };

export interface SshConnectionLimits {
  /** Maximum time from the connection to a successful login, milliseconds. */
  readonly loginMs: number;
  /** Maximum number of forwards. */
  readonly forwards: number;
  /** Maximum number of open connections of visitors. */
  readonly channels: number;
  /** Maximum number of session channels. */
  readonly sessions: number;
  /** Maximum number of requests that wait for an answer. */
  readonly requests: number;
  /** Time without anything from the client until it is asked, and until it is gone, milliseconds. */
  readonly keepAliveMs: number;
  readonly silenceMs: number;
  /** Time for the client to send its command after its forwards. Clients with -N send none. */
  readonly wordsMs: number;
}

export const defaultSshLimits: SshConnectionLimits = {
  loginMs: 20_000,
  forwards: 16,
  channels: 512,
  sessions: 4,
  requests: 64,
  keepAliveMs: 20_000,
  silenceMs: 60_000,
  wordsMs: 700,
};

/** Bytes by which all windows of one connection may grow. */
const windowReserve = 16 * 1024 * 1024;

export interface SshHost {
  readonly clock: Clock;
  readonly log: Log;
  readonly hostKey: HostKey;
  readonly domain: string;
  readonly version: string;
  readonly limits: SshConnectionLimits;
  readonly rekey: RekeyLimits | undefined;
  readonly openLink: OpenLink;
  readonly readWords: ReadWords;
  /** Text for a client that publishes nothing. */
  readonly help: string;
}

export interface SshConnectionEvents {
  /** The client has logged in, or has gone without a login. */
  settled(): void;
  wrongKey(): void;
  closed(): void;
}

export class SshConnection {
  readonly #host: SshHost;
  readonly #ip: string;
  readonly #events: SshConnectionEvents;
  readonly #transport: Transport;
  readonly #channels: Channels;
  readonly #login: UserLogin;
  readonly #terminal = new Terminal();
  readonly #forwards: Forwards;
  #session: ClientSession | undefined;
  #isIn = false;
  #deadline: Timer | undefined;
  #wordsTimer: Timer | undefined;
  #keepAlive: Timer | undefined;
  #expiry: Timer | undefined;
  #askedAt = 0;
  /** Answers in the order of their requests (RFC 4254 §4). */
  #answers: Promise<void> = Promise.resolve();
  #waiting = 0;
  #isOver = false;

  constructor(socket: Socket, ip: string, host: SshHost, events: SshConnectionEvents) {
    const { clock, limits } = host;
    this.#host = host;
    this.#ip = ip;
    this.#events = events;
    this.#transport = new Transport(socket, host, {
      message: (number, payload) => this.#message(number, payload),
      drained: () => this.#channels.drained(),
      closed: (error) => this.#closed(error),
    });
    this.#channels = new Channels({
      transport: this.#transport,
      clock,
      limits: { forwarded: limits.channels, sessions: limits.sessions },
      reserve: new WindowReserve(windowReserve),
      opened: () => this.#awaitWords(),
      requested: (channel, name, reader) => this.#requested(channel, name, reader),
    });
    this.#forwards = new Forwards({ domain: host.domain, terminal: this.#terminal });
    this.#login = new UserLogin({
      transport: this.#transport,
      ip,
      now: () => clock.now(),
      login: (key) => this.#open(key),
      failed: (fingerprint, why) => {
        events.wrongKey();
        host.log.info("ssh login rejected", { ip, key: fingerprint, why: toVisibleLine(why) });
      },
      succeeded: () => this.#loggedIn(),
    });
    this.#deadline = clock.after(limits.loginMs, () =>
      this.#transport.disconnect(reasons.byApplication, `no login within ${limits.loginMs / 1000} s`),
    );
  }

  /** Ends the connection and shows `why` to the user. */
  end(why: string): void {
    if (this.#isIn) this.#terminal.problem(why);
    this.#transport.disconnect(reasons.byApplication, why);
  }

  /** Tells the user. The edge ends the session when other nodes can serve the client and its requests have finished. */
  retire(): void {
    if (this.#isIn) this.#terminal.notice("The server is stopping. The connection ends soon.");
  }

  #message(number: number, payload: Buffer): void {
    if (!this.#isIn) return this.#login.take(number, payload);
    if (this.#channels.take(number, payload)) return;
    const reader = new WireReader(payload, 1);
    switch (number) {
      case numbers.globalRequest:
        return this.#request(reader);
      case numbers.requestSuccess:
      case numbers.requestFailure:
        this.#channels.windows.roundTripMs = this.#host.clock.monotonic() - this.#askedAt;
        return;
      case numbers.authRequest:
        return;
      default:
        this.#transport.send(encodeMessage(numbers.unimplemented, encodeUint32(0)));
    }
  }

  /** Opens the session at an edge. Returns why the key is not accepted. */
  async #open(key: ProvenKey): Promise<string | undefined> {
    const { clientVersion } = this.#transport;
    const { fingerprint, certificate } = key;
    try {
      const session = await this.#host.openLink(
        {
          fingerprint,
          isCertificate: certificate !== undefined,
          ip: this.#ip,
          client: `ssh ${clientVersion.slice("SSH-2.0-".length)}`.slice(0, 100),
          metadata: certificate === undefined ? "" : `certificate ${toVisibleLine(certificate.keyId).slice(0, 200)}`,
        },
        this.#handlers(),
      );
      if (this.#isOver) {
        session.close();
        return "The connection has ended.";
      }
      this.#session = session;
      this.#watchCertificate(certificate?.expiresAtMs ?? Infinity);
      return undefined;
    } catch (error) {
      if (!(error instanceof Refusal)) {
        this.#host.log.warn("ssh login without an edge", { ip: this.#ip, error });
        return "The server cannot check keys at present. Try again.";
      }
      return error.reason === "ssh_key_unknown" ? error.message : `The server rejected the login: ${error.message}`;
    }
  }

  #watchCertificate(expiresAtMs: number): void {
    if (expiresAtMs === Infinity) return;
    // The longest time of a timer is 24 days.
    const leftMs = Math.min(expiresAtMs - this.#host.clock.now(), 2 ** 31 - 1);
    this.#expiry = this.#host.clock.after(leftMs, () => this.end("The certificate of this connection has expired."));
  }

  #handlers(): ClientHandlers {
    return {
      proxied: (tunnelId, header, stream) => this.#proxied(tunnelId, header, stream),
      command: () => {
        this.#host.clock.after(0, () => this.end("The server has stopped this session."));
        return Promise.resolve();
      },
      stopped: (tunnelId, text) => this.#forwards.stopped(tunnelId, text),
      closed: (error) => {
        this.#session = undefined;
        if (!this.#isIn || this.#isOver) return;
        const why = error instanceof Goodbye && error.reason !== "" ? error.reason : "the connection was lost";
        this.end(`The server ended the session: ${toVisibleLine(why)}.`);
      },
    };
  }

  #loggedIn(): void {
    const { clock, limits } = this.#host;
    this.#isIn = true;
    this.#deadline?.cancel();
    this.#events.settled();
    this.#keepAlive = clock.every(limits.keepAliveMs / 2, () => this.#checkSilence());
    this.#askTime();
  }

  #checkSilence(): void {
    const { clock, limits } = this.#host;
    const silentMs = clock.monotonic() - this.#transport.heardAt;
    if (silentMs >= limits.silenceMs) this.end("The client no longer answers.");
    else if (silentMs >= limits.keepAliveMs) this.#askTime();
  }

  /** The answer shows that the client is there, and how long a round trip takes. */
  #askTime(): void {
    this.#askedAt = this.#host.clock.monotonic();
    this.#transport.send(encodeMessage(numbers.globalRequest, encodeString("keepalive@openssh.com"), yes));
  }

  #proxied(tunnelId: string, header: ProxiedHeader, stream: ByteStream): void {
    const forward = this.#forwards.ofTunnel(tunnelId);
    if (!forward) return stream.abort();
    serveVisitor(stream, {
      channels: this.#channels,
      clock: this.#host.clock,
      forward: forward.shown,
      clientAddress: header.clientAddress,
      requested: forward.isHttp && !header.passthroughTls ? (request) => this.#terminal.request(request) : undefined,
      hasProxyHeader: forward.hasProxyHeader,
      unreachable: (why) => this.#terminal.problem(`Your service cannot be reached: ${why}`),
    });
  }

  #request(reader: WireReader): void {
    const name = reader.text();
    const wantsReply = reader.boolean();
    this.#waiting += 1;
    if (this.#waiting > this.#host.limits.requests) throw new SshViolation("too many requests at once");
    const answer = this.#answerTo(name, reader);
    this.#answers = this.#answers.then(async () => {
      const fields = await answer;
      this.#waiting -= 1;
      if (!wantsReply) return;
      this.#transport.send(
        fields ? encodeMessage(numbers.requestSuccess, ...fields) : encodeMessage(numbers.requestFailure),
      );
    });
    runUnattended("session", this.#answers);
  }

  /** Returns the fields of a success, or undefined. */
  async #answerTo(name: string, reader: WireReader): Promise<readonly Uint8Array[] | undefined> {
    if (name !== "tcpip-forward" && name !== "cancel-tcpip-forward") return undefined;
    const request = { address: reader.text(255), port: reader.uint32() };
    if (request.port > 65_535) throw new SshViolation("a port is greater than 65535");
    const session = this.#session;
    if (!session) return undefined;
    if (name === "cancel-tcpip-forward") return (await this.#forwards.cancel(request, session)) ? [] : undefined;
    if (this.#forwards.count >= this.#host.limits.forwards) {
      this.#terminal.problem(`This connection has ${this.#forwards.count} forwards, the maximum.`);
      return undefined;
    }
    const asked = this.#forwards.ask(request, session);
    this.#awaitWords();
    const port = await asked;
    if (port === undefined) {
      this.#endIfUseless();
      return undefined;
    }
    return request.port === 0 ? [encodeUint32(port)] : [];
  }

  /** A client without a terminal reads only the reason of the disconnect. */
  #endIfUseless(): void {
    const { isUseless, lastProblem } = this.#forwards;
    if (!isUseless || this.#terminal.channel) return;
    // The answer goes first.
    this.#host.clock.after(0, () => this.#transport.disconnect(reasons.byApplication, toVisibleLine(lastProblem)));
  }

  /** Forwards without words are published after a moment, because clients with -N send no command. */
  #awaitWords(): void {
    if (this.#forwards.words !== undefined || this.#wordsTimer || this.#forwards.count === 0) return;
    this.#wordsTimer = this.#host.clock.after(this.#host.limits.wordsMs, () => this.#forwards.decide(undefined));
  }

  #requested(channel: Channel, name: string, reader: WireReader): boolean {
    switch (name) {
      case "pty-req":
        this.#terminal.isTty = true;
        return true;
      case "shell":
        return this.#run(channel, "");
      case "exec":
        return this.#run(channel, reader.text(4_096));
      case "signal":
        this.#host.clock.after(0, () => this.#exit(channel, 0));
        return true;
      case "window-change":
        return true;
      default:
        return false;
    }
  }

  #run(channel: Channel, text: string): boolean {
    if (this.#terminal.channel) return false;
    this.#terminal.open(channel);
    channel.receiver = {
      data: (bytes) => {
        channel.consumed(bytes.length);
        // Control-C and Control-D.
        if (this.#terminal.isTty && (bytes.includes(3) || bytes.includes(4))) this.#exit(channel, 0);
      },
      ended: () => {},
      drained: () => {},
      closed: () => this.#transport.end(),
    };
    // The client reads the answer to its request first.
    this.#host.clock.after(0, () => this.#start(channel, text));
    return true;
  }

  #start(channel: Channel, text: string): void {
    const words = text.trim() === "" ? undefined : this.#host.readWords(text);
    if (words && "help" in words) {
      this.#terminal.text(words.help);
      return this.#exit(channel, 0);
    }
    if (words && "problem" in words) {
      this.#terminal.problem(words.problem);
      return this.#exit(channel, 2);
    }
    this.#terminal.json = words?.json ?? false;
    if (this.#forwards.count === 0) {
      this.#terminal.text(this.#host.help);
      return this.#exit(channel, 2);
    }
    if (words && this.#forwards.words !== undefined) {
      this.#terminal.problem("The forwards of this connection are published already. Send the command with them.");
      return this.#exit(channel, 2);
    }
    this.#wordsTimer?.cancel();
    this.#forwards.decide(words);
    runUnattended("session", this.#exitIfUseless(channel));
  }

  async #exitIfUseless(channel: Channel): Promise<void> {
    await this.#forwards.settled();
    if (this.#forwards.isUseless) this.#exit(channel, 1);
  }

  #exit(channel: Channel, status: number): void {
    channel.request("exit-status", encodeUint32(status));
    channel.end();
    // Clients with open connections of visitors would wait for them.
    this.#host.clock.after(100, () => this.#transport.end());
  }

  #closed(error: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const timer of [this.#deadline, this.#wordsTimer, this.#keepAlive, this.#expiry]) timer?.cancel();
    this.#host.log.debug("ssh connection closed", { ip: this.#ip, ...(error && { error }) });
    this.#forwards.close();
    this.#channels.lost(error ?? new Error("the SSH connection has ended"));
    this.#session?.close();
    if (!this.#isIn) this.#events.settled();
    this.#events.closed();
  }
}
