/** Tests an unsaved policy with the stored requests of its route: which results would change? */
import { useEffect, useState } from "preact/hooks";
import type { Explanation, Request } from "../../../../sdk/src/index.ts";
import { Failure, Tag } from "../../ui/elements.tsx";
import { statusTone } from "../../ui/format.ts";
import { explainError, postern } from "../api.ts";
import { Outcome } from "../parts.tsx";
import { linkTo } from "../router.ts";
import { atTheEdge } from "./at-the-edge.ts";
import type { RouteOfPolicy } from "./at-the-edge.ts";

/** Maximum number of pages of requests that are loaded and tested. */
const mostPages = 5;
const mostTried = 50;

interface Compared {
  readonly request: Request;
  readonly told: Explanation;
}

interface BacktestProps {
  readonly place: RouteOfPolicy;
  readonly policy: string;
  readonly isFine: boolean;
}

export function Backtest({ place, policy, isFine }: BacktestProps) {
  const [found, setFound] = useState<readonly Compared[]>();
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  useEffect(() => setFound(undefined), [policy]);
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      const compared: Compared[] = [];
      // Sequential, because the edge also serves visitors.
      for (const request of await requestsOf(place.routeId)) {
        const { method, host, path, source_ip } = request;
        compared.push({ request, told: await atTheEdge(place, policy, { method, host, path, source_ip }) });
      }
      setFound(compared);
      setError("");
    } catch (failure) {
      setError(explainError(failure).message);
    }
    setBusy(false);
  };
  const changed = found?.filter(isOtherwise) ?? [];
  return (
    <section class="column" aria-label="Test with past requests">
      <div class="row">
        <span class="muted small grow">
          Or with the last {mostTried} stored requests of this route. Their headers and bodies are not stored, and no
          visitor is logged in.
        </span>
        <button type="button" disabled={!isFine || isBusy} onClick={() => void run()}>
          {isBusy ? "Trying …" : "Test with past requests"}
        </button>
      </div>
      <Failure text={error} />
      {found && (
        <p role="status">
          {found.length === 0
            ? "There are no stored requests of this route."
            : `${found.length} tested: ${changed.length === 0 ? "all" : found.length - changed.length} would have the same result.`}
        </p>
      )}
      <ul class="came">
        {changed.map(({ request, told }) => (
          <li key={request.id}>
            <a class="row" href={linkTo("traffic", request.id)} target="_blank" rel="noreferrer">
              <Tag tone={statusTone(request.status_code)}>{request.status_code}</Tag>
              <span class="mono cut grow">{`${request.method} ${request.path}`}</span>
              <Outcome outcome={request.outcome} />→<Outcome outcome={told.outcome} />
              <span class="small cut">{told.steps.findLast(({ outcome }) => outcome === told.outcome)?.reason}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The policy does not cause errors of the service. */
function isOtherwise({ request, told }: Compared): boolean {
  const ended = request.outcome === "failed" ? "forwarded" : request.outcome;
  return ended !== told.outcome || (ended !== "forwarded" && request.status_code !== told.status_code);
}

async function requestsOf(routeId: string): Promise<readonly Request[]> {
  const found: Request[] = [];
  let before: string | undefined;
  for (let page = 0; page < mostPages && found.length < mostTried; page += 1) {
    const options = { limit: 100, ...(before !== undefined && { before_id: before }) };
    const { items, nextBeforeId } = await postern.requests.list(options).page();
    found.push(...items.filter(({ route_id }) => route_id === routeId));
    before = nextBeforeId;
    if (before === undefined) break;
  }
  return found.slice(0, mostTried);
}
