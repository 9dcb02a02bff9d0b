/** Counts finished traffic per account and service, and reports the counts to the control plane every second. */
import type { Clock, Timer } from "../../lib/clock.ts";
import { DurationTally, otherServices } from "../../lib/tally.ts";
import type { Upward } from "../../routing/planes/messages.ts";
import { codeOf, outcomeOf } from "../../routing/planes/edge-questions.ts";
import type { ClosedConnection } from "../connections/closed-connection.ts";
import type { FinishedExchange } from "../http/http-context.ts";

export interface Tallies {
  request(exchange: FinishedExchange): void;
  connection(closed: ClosedConnection): void;
  /** Acknowledges the report. The next one may follow. */
  taken(number: number): void;
  /** Sends an unacknowledged report again, because the control plane may have restarted. */
  again(): void;
  /** Sends what is left. */
  close(): void;
}

const everyMs = 1_000;
/** Maximum number of services in one report. Traffic of further services counts for the account. */
const maxServices = 2_000;
const maxAccounts = 10_000;
const statusClasses = [
  "responses_none",
  "responses_1xx",
  "responses_2xx",
  "responses_3xx",
  "responses_4xx",
  "responses_5xx",
] as const;

export function makeTallies(send: (message: Upward) => void, clock: Clock): Tallies {
  /** By account, then by service. */
  let counted = new Map<string, Map<string, DurationTally>>();
  let services = 0;
  /** When the first of the counted traffic ended. */
  let since = 0;
  let sent: Extract<Upward, { readonly type: "tallies" }> | undefined;
  let lastNumber = 0;
  let timer: Timer | undefined;

  const report = (): void => {
    timer = undefined;
    // Traffic is counted further until the control plane has taken the previous report.
    if (sent || counted.size === 0) return;
    const rows = Array.from(
      counted,
      ([accountId, of]) => [accountId, Array.from(of, ([id, tally]) => tally.pack(id))] as const,
    );
    sent = { type: "tallies", number: (lastNumber += 1), at: since, rows };
    counted = new Map();
    services = 0;
    send(sent);
  };
  const tallyOf = (accountId: string, serviceId: string): DurationTally | undefined => {
    if (counted.size === 0) since = clock.now();
    timer ??= clock.after(everyMs, report);
    let ofAccount = counted.get(accountId);
    if (!ofAccount) {
      if (counted.size >= maxAccounts) return undefined;
      counted.set(accountId, (ofAccount = new Map()));
    }
    const found = ofAccount.get(serviceId);
    if (found) return found;
    if (services >= maxServices && serviceId !== otherServices) return tallyOf(accountId, otherServices);
    services += 1;
    const tally = new DurationTally();
    ofAccount.set(serviceId, tally);
    return tally;
  };
  return {
    request(exchange) {
      const { accountId, siteId } = exchange;
      if (accountId === undefined) return;
      const tally = tallyOf(accountId, siteId ?? otherServices);
      if (tally) countRequest(tally, exchange);
    },
    connection({ site, outcome, steps, bytesIn, bytesOut }) {
      const tally = tallyOf(site.accountId, site.id);
      if (!tally) return;
      const [hostport = ""] = site.hostports;
      tally.name = hostport;
      tally.count("connections");
      tally.count("bytes_in", bytesIn);
      tally.count("bytes_out", bytesOut);
      if (outcome === "served" || outcome === "abandoned") return;
      tally.count(outcome === "denied" || outcome === "account_limit" ? "connections_denied" : "connections_failed");
      tally.refuse(codeOf(steps.at(-1)?.answer) ?? outcome);
    },
    taken(number) {
      if (sent?.number !== number) return;
      sent = undefined;
      if (counted.size > 0) timer ??= clock.after(everyMs, report);
    },
    again() {
      if (sent) send(sent);
    },
    close() {
      timer?.cancel();
      sent = undefined;
      report();
    },
  };
}

function countRequest(tally: DurationTally, exchange: FinishedExchange): void {
  const { status, steps, cutShort, waitedMs, siteId, host } = exchange;
  const last = steps.at(-1);
  const outcome = cutShort ? "failed" : outcomeOf(last, last?.answer, status);
  if (siteId !== undefined) tally.name = host;
  tally.count("requests");
  tally.count(outcome);
  tally.count(statusClasses[Math.trunc(status / 100)] ?? "responses_none");
  if (status >= 500 || outcome === "failed") tally.count("errors");
  tally.count("bytes_in", exchange.bytesIn);
  tally.count("bytes_out", exchange.bytesOut);
  // The time until the response begins: long downloads and WebSockets are not slow responses.
  if (status > 0) tally.observe(waitedMs ?? exchange.durationMs);
  if (outcome === "denied" || outcome === "failed") {
    tally.refuse(codeOf(last?.answer) ?? (cutShort ? "cut_short" : (last?.by ?? outcome)));
  }
}
