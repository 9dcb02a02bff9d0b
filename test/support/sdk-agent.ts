/**
 * A separate process for the public agent SDK, driven by messages. The SDK creates sockets in its working directory,
 * and its state is per process.
 */
import type { AddressInfo } from "node:net";
import { createServer as createTcpServer } from "node:net";
import ngrok from "@ngrok/ngrok";
import { createServer } from "../../src/lib/http.ts";

export interface SdkCommand {
  readonly call: number;
  readonly name:
    | "connect"
    | "forward"
    | "http"
    | "labelled"
    | "tcp"
    | "tls"
    | "build"
    | "module"
    | "events"
    | "closeListener"
    | "closeSession";
  readonly port?: number;
  readonly ca?: string;
  readonly token?: string;
  readonly domain?: string;
  readonly trafficPolicy?: string;
  readonly pooling?: boolean;
  /** Port of the upstream service, if it is not a service of this process. */
  readonly target?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly heartbeatSeconds?: number;
  /** PEM of the authorities for client certificates. */
  readonly clientAuthorities?: string;
  /** PEM of the certificate and the key with which the edge terminates TLS. */
  readonly termination?: readonly [certificate: string, key: string];
  readonly proxyProtocol?: "1" | "2";
  readonly scheme?: "HTTP" | "HTTPS";
  readonly appProtocol?: "http1" | "http2";
  /** Arguments of the builder's `oauth`, or `oidc`. */
  readonly oauth?: Parameters<ngrok.HttpListenerBuilder["oauth"]>;
  readonly oidc?: Parameters<ngrok.HttpListenerBuilder["oidc"]>;
  /** Configuration of `forward()`. */
  readonly forward?: ngrok.Config;
  /** Records the calls of the handlers of `forward()`. */
  readonly listens?: true;
  /** User names and passwords. Visitors must present one of them. */
  readonly credentials?: readonly (readonly [user: string, password: string])[];
  /** For `build`: one of the package's builders. `session` is the builder of sessions. */
  readonly builder?: "session" | "httpEndpoint" | "tcpEndpoint" | "tlsEndpoint" | "labeledListener";
  /** Methods of the builder, or a function of the package, with their arguments. Handlers record their arguments. */
  readonly calls?: readonly Call[];
  /** Method that starts the listener. */
  readonly begin?: "listenAndForward" | "listenAndServe" | "listen";
  /** URL of the forwarding target. */
  readonly to?: string;
}

/** A method's name and its arguments. PEM is passed as bytes. */
export type Call = readonly [method: string, ...given: readonly (string | number | boolean)[]];

export interface SdkAnswer {
  readonly call: number;
  readonly url?: string | null;
  readonly id?: string;
  /** All properties that the listener reports. */
  readonly listener?: Readonly<Record<string, unknown>>;
  /** The result of a function of the package, or the arguments of handlers. */
  readonly said?: unknown;
  readonly error?: { readonly message: string; readonly errorCode: string | undefined };
}

let session: ngrok.Session | undefined;
const listeners: ngrok.Listener[] = [];

/** Responds with the request's path, or with as many bytes as the path specifies. */
const web = createServer((request, response) => {
  const size = /^\/bytes\/(\d+)$/.exec(request.url ?? "");
  if (size) response.end(Buffer.alloc(Number(size[1]), 97));
  else response.end(`hello from ${request.url ?? ""}`);
});
const echo = createTcpServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket));

async function run(command: SdkCommand): Promise<Omit<SdkAnswer, "call">> {
  const webUrl = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  switch (command.name) {
    case "connect": {
      const builder = new ngrok.SessionBuilder()
        .authtoken(command.token ?? "")
        .serverAddr(`localhost:${command.port}`)
        .caCert(Buffer.from(command.ca ?? ""))
        .clientInfo("postern-test", "1.0.0");
      if (command.heartbeatSeconds) {
        builder.heartbeatInterval(command.heartbeatSeconds).heartbeatTolerance(command.heartbeatSeconds);
      }
      session = await builder.connect();
      return {};
    }
    case "forward":
      return added(await ngrok.forward({ ...command.forward, ...(command.listens && handlers) }));
    case "http": {
      const builder = connected().httpEndpoint();
      if (command.domain) builder.domain(command.domain);
      if (command.clientAuthorities) builder.mutualTlsca(Buffer.from(command.clientAuthorities));
      if (command.proxyProtocol) builder.proxyProto(command.proxyProtocol);
      if (command.trafficPolicy) builder.trafficPolicy(command.trafficPolicy);
      if (command.pooling) builder.poolingEnabled(true);
      if (command.scheme) builder.scheme(command.scheme);
      if (command.appProtocol) builder.appProtocol(command.appProtocol);
      for (const [user, password] of command.credentials ?? []) builder.basicAuth(user, password);
      if (command.oauth) builder.oauth(...command.oauth);
      if (command.oidc) builder.oidc(...command.oidc);
      const to = command.target ? `http://127.0.0.1:${command.target}` : webUrl;
      return added(await builder.listenAndForward(to));
    }
    case "labelled": {
      const builder = connected().labeledListener();
      for (const [name, value] of Object.entries(command.labels ?? {})) builder.label(name, value);
      return added(await builder.listenAndForward(webUrl));
    }
    case "tcp": {
      const builder = connected().tcpEndpoint();
      if (command.trafficPolicy) builder.trafficPolicy(command.trafficPolicy);
      return added(await builder.listenAndForward(`tcp://127.0.0.1:${(echo.address() as AddressInfo).port}`));
    }
    case "tls": {
      const builder = connected().tlsEndpoint();
      if (command.domain) builder.domain(command.domain);
      if (command.trafficPolicy) builder.trafficPolicy(command.trafficPolicy);
      if (command.clientAuthorities) builder.mutualTlsca(Buffer.from(command.clientAuthorities));
      if (command.termination) {
        const [certificate, key] = command.termination;
        builder.termination(Buffer.from(certificate), Buffer.from(key));
      }
      const kind = command.termination ? "tcp" : "tls";
      return added(await builder.listenAndForward(`${kind}://127.0.0.1:${command.target}`));
    }
    case "build":
      return await build(command);
    case "module": {
      const [method, ...given] = command.calls?.[0] ?? [""];
      const said: unknown = await (ngrok as unknown as Methods)[method]?.(...given);
      const shown = Array.isArray(said) ? (said as ngrok.Listener[]).map((one) => one.url()) : undefined;
      return { said: shown ?? (said as ngrok.Listener | undefined)?.url?.() ?? null };
    }
    case "events":
      return { said: events };
    case "closeListener":
      await listeners.pop()?.close();
      return {};
    case "closeSession":
      await session?.close();
      return {};
  }
}

type Methods = Readonly<Record<string, (...given: unknown[]) => unknown>>;

/** Arguments of the handlers, in order. */
const events: unknown[][] = [];
const handlers: ngrok.Config = {
  onStatusChange: (status) => events.push(["onStatusChange", status]),
  onLogEvent: (line) => events.push(["onLogEvent", line]),
};

/** Calls the methods of one of the package's builders, and starts its listener. */
async function build({
  builder: kind = "session",
  calls = [],
  begin,
  to,
}: SdkCommand): Promise<Omit<SdkAnswer, "call">> {
  const builder = kind === "session" ? new ngrok.SessionBuilder() : connected()[kind]();
  for (const [method, ...given] of calls) {
    const handle = (...told: unknown[]): boolean => {
      events.push([method, ...told]);
      return true;
    };
    const bytes = given.map((one) => (String(one).startsWith("-----BEGIN") ? Buffer.from(String(one)) : one));
    (builder as unknown as Methods)[method]?.(...(method.startsWith("handle") ? [handle] : bytes));
  }
  if (builder instanceof ngrok.SessionBuilder) {
    session = await builder.connect();
    return {};
  }
  const serving = createServer((_, response) => response.end("served by itself"));
  if (begin === "listenAndServe") return added(await builder.listenAndServe(serving));
  if (begin !== "listen") return added(await builder.listenAndForward(to ?? ""));
  const listener = await builder.listen();
  void listener.forward(to ?? "");
  return added(listener);
}

function connected(): ngrok.Session {
  if (!session) throw new Error("not connected");
  return session;
}

function added(listener: ngrok.Listener): Omit<SdkAnswer, "call"> {
  listeners.push(listener);
  const said = {
    proto: listener.proto(),
    labels: listener.labels(),
    forwardsTo: listener.forwardsTo(),
    metadata: listener.metadata(),
  };
  return { url: listener.url(), id: listener.id(), listener: said };
}

process.on("message", (command: SdkCommand) => {
  run(command).then(
    (result) => process.send?.({ call: command.call, ...result }),
    (error: Error & { errorCode?: string }) =>
      process.send?.({ call: command.call, error: { message: error.message, errorCode: error.errorCode } }),
  );
});
process.on("disconnect", () => process.exit(0));
web.listen(0, "127.0.0.1", () => echo.listen(0, "127.0.0.1", () => process.send?.({ call: 0 })));
