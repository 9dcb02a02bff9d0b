/**
 * Shows the captured data of the agent that served a request, and its replays. Loaded when the user opens a request.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { PosternError, errorCodes } from "../../../sdk/src/index.ts";
import type { Exchange, Request } from "../../../sdk/src/index.ts";
import "../exchange/exchange.css";
import { Sides } from "../exchange/sides.tsx";
import { TimingBar, TimingFacts } from "../exchange/timing.tsx";
import { Dialog, Tag, Time } from "../ui/elements.tsx";
import { durationText, statusTone } from "../ui/format.ts";
import { explainError, postern, session } from "./api.ts";
import { asExchange } from "./kept-exchange.ts";
import { Failed } from "./parts.tsx";
import { linkTo, place } from "./router.ts";

/** Reasons for missing data that are not errors. */
const reasons: Readonly<Record<string, string>> = {
  [errorCodes.exchange_agent_gone]:
    "The agent that handled this request is no longer connected. Its captured requests are available only if it reconnects soon.",
  [errorCodes.exchange_unsupported]:
    "The agent that handled this request uses a public SDK or an earlier version, and cannot return captured requests.",
  [errorCodes.exchange_not_kept]:
    "The agent does not capture requests of this tunnel. To capture them, start it with --inspector and without --inspect false.",
  [errorCodes.exchange_management_off]:
    "The agent does not allow remote access to captured requests (--remote-management false). Open its own inspector instead.",
  [errorCodes.exchange_forgotten]: "The agent no longer has this request. It keeps only recent requests.",
  [errorCodes.scope_missing]: "You have no access to captured requests. Use a key or role with the scope exchanges.",
};

/** Safe methods (RFC 9110 §9.2.1). */
const safe: readonly string[] = ["GET", "HEAD", "OPTIONS"];

export function Captured({ request }: { readonly request: Request }) {
  const { id } = request;
  const chosen = place.value.query.get("exchange") ?? "";
  const { exchange, error, again } = useKept(id, chosen);
  if (error !== undefined) {
    const reason = reasonOf(error);
    return reason === undefined ? <Failed error={explainError(error).message} again={again} /> : <p>{reason}</p>;
  }
  if (!exchange) return <p class="muted">Loading from the agent …</p>;
  return (
    <>
      {exchange.replay_of !== null && (
        <p class="notice">
          This is a replay, sent <Time at={exchange.started_at} /> by the agent directly to its service.{" "}
          <a href={linkTo("traffic", id)}>The original request</a>
        </p>
      )}
      <Replays exchange={exchange} requestId={id} onSent={again} />
      <Kept exchange={exchange} request={request} />
    </>
  );
}

interface KeptData {
  readonly exchange: Exchange | undefined;
  readonly error: unknown;
  again(): void;
}

function useKept(id: string, exchangeId: string): KeptData {
  const [state, setState] = useState<{ of: string; exchange?: Exchange; error?: unknown }>({ of: "" });
  const [asked, setAsked] = useState(0);
  const of = `${id} ${exchangeId}`;
  useEffect(() => {
    let isStale = false;
    postern.requests.exchange.get(id, exchangeId === "" ? {} : { exchange_id: exchangeId }).then(
      (exchange) => !isStale && setState({ of, exchange }),
      (error: unknown) => !isStale && setState({ of, error }),
    );
    return () => {
      isStale = true;
    };
  }, [of, asked]);
  const { exchange, error } = state.of === of ? state : {};
  return { exchange, error, again: () => setAsked((count) => count + 1) };
}

function Kept({ exchange: kept, request }: { readonly exchange: Exchange; readonly request: Request }) {
  const exchange = useMemo(() => asExchange(kept, request), [kept, request]);
  const { outcome } = exchange;
  return (
    <>
      <div class="column timing">
        <TimingBar exchange={exchange} />
        <dl class="facts small">
          <TimingFacts exchange={exchange} />
        </dl>
      </div>
      {outcome === "cut" && <p class="notice warn">The connection ended before the response was complete.</p>}
      {outcome === "upgraded" && <p class="muted">The connection switched to another protocol, such as WebSocket.</p>}
      {outcome === "unreadable" && <p class="notice bad">The traffic was not valid HTTP.</p>}
      <Sides exchange={exchange} />
    </>
  );
}

interface ReplaysProps {
  readonly exchange: Exchange;
  readonly requestId: string;
  onSent(): void;
}

/** Shows the replay button, its result, and earlier replays. */
function Replays({ exchange, requestId, onSent }: ReplaysProps) {
  const [asks, setAsks] = useState(false);
  const [state, setState] = useState<{ isUnderWay?: boolean; sent?: Exchange; error?: unknown }>({});
  // The same key until there is a result, so that a lost response does not cause a second replay.
  const key = useRef("");
  const { method, target } = exchange.request;
  const send = async (): Promise<void> => {
    setAsks(false);
    key.current ||= crypto.randomUUID();
    setState({ isUnderWay: true });
    try {
      const sent = await postern.requests.replay(requestId, { idempotencyKey: key.current });
      key.current = "";
      setState({ sent });
      onSent();
    } catch (error) {
      if (error instanceof PosternError && error.code !== errorCodes.command_timeout) key.current = "";
      setState({ error });
    }
  };
  const error = state.error === undefined ? "" : (reasonOf(state.error) ?? explainError(state.error).message);
  return (
    <section class="column" aria-label="Replays">
      {mayReplay() && (
        <div class="row">
          <button
            type="button"
            disabled={state.isUnderWay === true}
            onClick={() => (safe.includes(method) ? void send() : setAsks(true))}
          >
            {state.isUnderWay === true ? "Sending …" : `Replay${safe.includes(method) ? "" : " …"}`}
          </button>
          <span class="muted small">The agent sends the unchanged request directly to its service.</span>
        </div>
      )}
      <Failed error={error} again={() => void send()} />
      {state.sent && (
        <p class="notice good" role="status">
          Sent again: <Answered status={state.sent.response?.status_code ?? null} />
          {state.sent.duration_ms !== null && ` in ${durationText(state.sent.duration_ms)}`}.{" "}
          <a href={replayLink(requestId, state.sent.exchange_id)}>Show the new request</a>
        </p>
      )}
      {exchange.replays.length > 0 && (
        <ul class="row replays" aria-label="Kept replays">
          <li class="muted">Replays</li>
          {exchange.replays.map((one) => (
            <li key={one.exchange_id}>
              <Answered status={one.status_code} />{" "}
              <a
                href={replayLink(requestId, one.exchange_id)}
                aria-current={one.exchange_id === exchange.exchange_id ? "true" : undefined}
              >
                <Time at={one.started_at} />
              </a>
            </li>
          ))}
        </ul>
      )}
      {asks && (
        <Dialog title="Send it again?" onClose={() => setAsks(false)}>
          <p class="asked">
            The service gets <span class="mono">{`${method} ${target}`}</span> again, with the same fields and body. The
            request may repeat its effects.
          </p>
          <div class="row actions">
            <button type="button" class="primary" onClick={() => void send()}>
              Send it again
            </button>
            <button type="button" onClick={() => setAsks(false)}>
              Cancel
            </button>
          </div>
        </Dialog>
      )}
    </section>
  );
}

function Answered({ status }: { readonly status: number | null }) {
  return status === null ? <Tag tone="info">no response yet</Tag> : <Tag tone={statusTone(status)}>{status}</Tag>;
}

function replayLink(requestId: string, exchangeId: string): string {
  return `${linkTo("traffic", requestId)}?exchange=${exchangeId}`;
}

/** Whether the user may write. Other users see no replay button. */
function mayReplay(): boolean {
  const scopes = session.value?.api_key.scopes ?? [];
  return scopes.length === 0 || scopes.includes("write") || !scopes.includes("read");
}

function reasonOf(error: unknown): string | undefined {
  return error instanceof PosternError ? reasons[error.code] : undefined;
}
