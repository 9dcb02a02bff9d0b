/** Shows the content of a body or an upgraded connection: parts of forms, messages of gRPC and WebSockets. */
import type { ComponentChildren } from "preact";
import { Tag, Time } from "../ui/elements.tsx";
import { bytesText } from "../ui/format.ts";
import { hexOf } from "./hex.ts";
import { bytesOf } from "./model.ts";
import type { Grpc, BodyPart, RpcCall, WebSocketMessage } from "./model.ts";

export function Parts({ parts }: { readonly parts: readonly BodyPart[] }) {
  return (
    <ol class="events box" aria-label="Parts">
      {parts.map(({ name, file_name, content_type, bytes, text, cut }, at) => (
        <li key={at}>
          <Line cut={cut}>
            <strong>{name}</strong>
            {file_name !== undefined && <span class="mono">{file_name}</span>}
            {content_type !== undefined && <Tag>{content_type}</Tag>}
            <span class="muted small">{bytesText(bytes)}</span>
          </Line>
          {text !== undefined && <pre>{text}</pre>}
        </li>
      ))}
    </ol>
  );
}

export function GrpcMessages({ grpc }: { readonly grpc: Grpc }) {
  const { messages, status, status_name, message } = grpc;
  return (
    <>
      {status !== undefined && (
        <p>
          <Tag tone={status === 0 ? "good" : "bad"}>{`${status_name} (${status})`}</Tag> {message}
        </p>
      )}
      <ol class="events box" aria-label="Messages">
        {messages.map(({ bytes, compressed, base64, cut }, at) => (
          <li key={at}>
            <Line cut={cut}>
              <span class="muted small">{bytesText(bytes)}</span>
              {compressed && <Tag>compressed</Tag>}
            </Line>
            <pre>{hexOf(bytesOf(base64))}</pre>
          </li>
        ))}
      </ol>
    </>
  );
}

export function WebSocketMessages({
  messages,
  cut,
}: {
  readonly messages: readonly WebSocketMessage[];
  readonly cut: boolean;
}) {
  return (
    <section aria-label="Messages">
      <h2>Messages</h2>
      {cut && <p class="muted small">The first messages were discarded.</p>}
      <ol class="events box">
        {messages.map((one, at) => (
          <li key={at}>
            <Line cut={one.cut}>
              <Tag tone={one.from === "visitor" ? "info" : "good"}>{`from the ${one.from}`}</Tag>
              <span>{one.type}</span>
              {one.code !== undefined && <span>{one.code}</span>}
              {one.compressed === true && <Tag>compressed</Tag>}
              <span class="muted small">{bytesText(one.bytes)}</span>
              <span class="muted small">
                <Time at={one.at} />
              </span>
            </Line>
            {(one.text ?? one.base64) !== "" && <pre>{one.text ?? hexOf(bytesOf(one.base64 ?? ""))}</pre>}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** @param duration of the whole request, as text */
export function RpcCalls({ calls, duration }: { readonly calls: readonly RpcCall[]; readonly duration: string }) {
  return (
    <section aria-label="Calls">
      <h2>Calls</h2>
      <ol class="events box">
        {calls.map((one, at) => (
          <li key={at}>
            <Line cut={undefined}>
              {one.from === "server" && <Tag tone="info">from the server</Tag>}
              {one.kind !== "call" && <Tag>{one.kind}</Tag>}
              <strong class="mono">{one.method}</strong>
              {one.name !== undefined && <span class="mono">{one.name}</span>}
              {one.error && <Tag tone="bad">{`error ${one.error.code}`}</Tag>}
              {one.failed === true && <Tag tone="bad">failed</Tag>}
              {one.kind === "call" && one.from === "client" && (
                <span class="muted small">{one.answered ? duration : "no answer"}</span>
              )}
            </Line>
            {one.params !== undefined && (
              <Json label={one.name === undefined ? "Parameters" : "Arguments"} value={one.params} />
            )}
            {one.error && <p>{one.error.message}</p>}
            {one.result !== undefined && <Json label="Result" value={one.result} />}
          </li>
        ))}
      </ol>
    </section>
  );
}

function Json({ label, value }: { readonly label: string; readonly value: unknown }) {
  return (
    <details open>
      <summary class="muted small">{label}</summary>
      <pre>{typeof value === "string" ? value : JSON.stringify(value, undefined, 2)}</pre>
    </details>
  );
}

/** Returns the calls of a request in one line. */
export function rpcText(calls: readonly RpcCall[] = []): string {
  return calls
    .filter(({ kind }) => kind === "call")
    .map(({ method, name }) => (name === undefined ? method : `${method} ${name}`))
    .join(", ");
}

function Line({ cut, children }: { readonly cut: boolean | undefined; readonly children: ComponentChildren }) {
  return (
    <div class="row">
      {children}
      {cut === true && <Tag tone="warn">incomplete</Tag>}
    </div>
  );
}
