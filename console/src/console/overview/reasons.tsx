/** How often requests and connections were denied or failed, by reason. */
import { countText } from "../../charts/scale.ts";
import { titleOf } from "../description.ts";
import type { Loaded, Period, Series } from "../series.ts";

interface ReasonsProps {
  readonly loaded: Loaded;
  readonly period: Period;
}

export function Reasons({ loaded: { groups }, period }: ReasonsProps) {
  const most = Math.max(1, ...groups.map((one) => one.total("refused")));
  return (
    <section class="panel" aria-label="Denied by reason">
      <header>
        <h2 class="grow">Denied by reason</h2>
      </header>
      {groups.length === 0 && <p class="inside muted">{`Nothing was denied in the last ${period}.`}</p>}
      <ul class="reasons">
        {groups.map((one) => (
          <li key={one.reason ?? ""}>
            <span class="grow">{textOf(one)}</span>
            <b>{countText(one.total("refused"))}</b>
            <span class="share" aria-hidden="true">
              <span style={{ width: `${(one.total("refused") / most) * 100}%` }} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const texts: Readonly<Record<string, string>> = {
  cut_short: "The connection ended before the response was complete.",
  no_upstream: "The connection's service was not available.",
  broken: "The edge failed while it served the connection.",
  account_limit: "The account had too many connections.",
  denied: "The connection was denied.",
};

function textOf({ reason, reasonText }: Series): string {
  if (reason === undefined) return "Other reasons";
  if (reasonText !== "") return reasonText;
  return texts[reason] ?? (reason.startsWith("ERR_") ? reason : titleOf(reason));
}
