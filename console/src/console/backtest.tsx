/** Tries a change on captured requests, beside its diff. */
import { useEffect, useState } from "preact/hooks";
import type { Backtest, BacktestRequest } from "../../../sdk/src/index.ts";
import { Failure, Tag } from "../ui/elements.tsx";
import { explainError, postern } from "./api.ts";
import type { Description } from "./description.ts";
import { Steps } from "./steps.tsx";

type Example = Backtest["examples"][number];
type Difference = keyof Backtest["differences"];

const pollMs = 300;
/** Examples that the page shows. */
const maxExamples = 6;

const names: Readonly<Record<Difference, string>> = {
  allowed_to_denied: "newly denied",
  denied_to_allowed: "newly allowed",
  other_route: "another route",
  other_backend: "another backend",
  other_status: "another status",
  other_headers: "another URL, header field or response",
};

interface TryOnTrafficProps {
  /** The change; undefined for kinds that documents cannot contain. */
  readonly document: object | undefined;
  readonly description: Description;
}

export function TryOnTraffic({ document, description }: TryOnTrafficProps) {
  const [found, setFound] = useState<Backtest>();
  const [error, setError] = useState("");
  const isRunning = found?.status === "running";
  const key = JSON.stringify(document);
  useEffect(() => {
    setFound(undefined);
    setError("");
  }, [key]);
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setTimeout(() => void postern.backtests.get(found.id).then(setFound, fail), pollMs);
    return () => clearTimeout(timer);
  }, [found]);
  const fail = (failure: unknown): void => setError(explainError(failure).message);
  const start = (): void => {
    setError("");
    void postern.backtests.create({ document } as unknown as BacktestRequest).then(setFound, fail);
  };
  if (document === undefined) return null;
  return (
    <section class="column" aria-label="Effect on captured requests">
      <div class="row">
        <button type="button" disabled={isRunning} onClick={start}>
          Try on the last 24 hours
        </button>
        <span class="small" role="status">
          {found && summaryOf(found)}
        </span>
      </div>
      <Failure text={error || (found?.error ?? "")} />
      {found && <Counts found={found} />}
      {found?.examples.slice(0, maxExamples).map((one) => (
        <Compared key={one.request_id} example={one} description={description} />
      ))}
    </section>
  );
}

function summaryOf({ status, tried, different, unknown }: Backtest): string {
  if (status === "running") return `${tried} requests tried …`;
  if (tried === 0) return "No captured requests. Turn on capture for the account, edge or route.";
  return `${tried} requests tried: ${different} different, ${unknown} unknown`;
}

function Counts({ found: { differences, unknown_reasons: reasons, lost_nodes: lost } }: { readonly found: Backtest }) {
  const counts = (Object.keys(names) as Difference[]).filter((name) => differences[name] > 0);
  return (
    <>
      {counts.map((name) => (
        <p key={name} class="small">
          <Tag tone={name === "allowed_to_denied" || name === "denied_to_allowed" ? "bad" : ""}>
            {differences[name]}
          </Tag>{" "}
          {names[name]}
        </p>
      ))}
      {lost.map(({ node_id: id, requests }) => (
        <p key={id} class="small muted">
          Node {id} stopped responding. The backtest lacks {requests > 0 ? `at least ${requests}` : "its"} captured
          requests.
        </p>
      ))}
      {reasons.map(({ reason, requests }) => (
        <p key={reason} class="small muted">
          {requests} unknown: {reason}
        </p>
      ))}
    </>
  );
}

/** One request with both explanations. */
function Compared({ example, description }: { readonly example: Example; readonly description: Description }) {
  const { method, host, path, source_ip: source, user, difference, before, after } = example;
  return (
    <details>
      <summary>
        <span class="mono">
          {method} {host}
          {path}
        </span>{" "}
        from {user ?? source}: {names[difference as Difference]}
      </summary>
      <div class="two">
        <section aria-label="Now">
          <h3>Now: {before.outcome}</h3>
          <Steps steps={before.steps} description={description} />
        </section>
        <section aria-label="With this change">
          <h3>With this change: {after.outcome}</h3>
          <Steps steps={after.steps} description={description} />
        </section>
      </div>
    </details>
  );
}
