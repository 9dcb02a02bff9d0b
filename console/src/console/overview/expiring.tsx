/** Certificates that expire soon. */
import { Tag } from "../../ui/elements.tsx";
import { postern } from "../api.ts";
import { configurationChanges } from "../live-changes.ts";
import { Failed } from "../parts.tsx";
import { linkTo } from "../router.ts";
import { useData } from "../use-data.ts";

const dayMs = 86_400_000;
const soonDays = 30;
const shown = 6;

export function Expiring() {
  const found = useData(
    async () => (await postern.tlsCertificates.list({ limit: 100 }).page()).items,
    [configurationChanges.value],
  );
  const all = (found.value ?? [])
    .flatMap((one) => (one.not_after === null ? [] : [{ ...one, days: daysUntil(one.not_after) }]))
    .filter(({ days }) => days <= soonDays)
    .toSorted((one, other) => one.days - other.days)
    .slice(0, shown);
  if (all.length === 0 && found.error === "") return null;
  return (
    <section class="panel" aria-label="Certificates that expire soon">
      <header>
        <h2 class="grow">Certificates that expire soon</h2>
      </header>
      <Failed error={found.error} again={found.again} />
      <ul class="plain-list">
        {all.map(({ id, days, subject_alternative_names: names, subject_common_name: name, issued_at: issued }) => (
          <li key={id} class="row">
            <a class="grow cut" href={linkTo("objects", "tls_certificate", id)}>
              {names.dns_names.join(", ") || name || id}
            </a>
            <span class="muted small">{issued === null ? "uploaded" : "renewed automatically"}</span>
            <Tag tone={days < 7 ? "bad" : "warn"}>{renderDays(days)}</Tag>
          </li>
        ))}
      </ul>
    </section>
  );
}

function daysUntil(time: string): number {
  return Math.floor((Date.parse(time) - Date.now()) / dayMs);
}

function renderDays(days: number): string {
  if (days < 0) return "expired";
  return days === 0 ? "expires today" : `${days} ${days === 1 ? "day" : "days"} left`;
}
