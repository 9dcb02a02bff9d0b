/** Lists current problems, each with a link to its fix. Without problems, it shows nothing. */
import { Tag } from "../ui/elements.tsx";
import { postern } from "./api.ts";
import { titleOf } from "./description.ts";
import { configurationChanges, useEvery } from "./live-changes.ts";
import { Failed } from "./parts.tsx";
import { linkOf } from "./related.tsx";
import { linkTo } from "./router.ts";
import { useData } from "./use-data.ts";
import { useState } from "preact/hooks";

interface Wrong {
  readonly href: string;
  /** What the button does. */
  readonly fix: string;
  readonly what: string;
  readonly why: string;
}

const everyMs = 10_000;
/** Maximum number of each sort. */
const most = 10;

export function Problems() {
  const [asked, setAsked] = useState(0);
  useEvery(everyMs, () => setAsked((count) => count + 1), []);
  const found = useData(
    async () => (await Promise.all([ofEdges(), ofCertificates(), ofDeliveries()])).flat(),
    [asked, configurationChanges.value],
  );
  if (found.error === "" && (found.value ?? []).length === 0) return null;
  return (
    <section class="panel" aria-label="Problems">
      <header>
        <h2 class="grow">Problems</h2>
        <Tag tone="bad">{found.value?.length ?? "?"}</Tag>
      </header>
      <Failed error={found.error} />
      <ul class="plain-list">
        {found.value?.map(({ href, fix, what, why }) => (
          <li key={href + why} class="row">
            <span class="grow">
              <a href={href}>{what}</a> <span class="small">{why}</span>
            </span>
            <a class="button" href={href}>
              {fix}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

async function ofEdges(): Promise<readonly Wrong[]> {
  const { problems } = await postern.problems();
  // Domains without a certificate are listed by `ofCertificates`.
  const others = problems.filter(({ kind }) => kind !== "reserved_domain");
  return others.slice(0, most).map((one) => ({
    href: linkOf(one),
    fix: `Open the ${titleOf(one.kind)}`,
    what: `${titleOf(one.kind)} ${one.module === null ? "" : `with ${titleOf(one.module)} `}is not in effect`,
    why: one.message,
  }));
}

async function ofCertificates(): Promise<readonly Wrong[]> {
  const filter = "obj.certificate_management_status.provisioning_job.error_code != null";
  const { items } = await postern.reservedDomains.list({ limit: most, filter }).page();
  return items.map(({ id, domain, certificate_management_status: status }) => ({
    href: linkTo("objects", "reserved_domain", id),
    fix: "Open the domain",
    what: `${domain} has no certificate`,
    why: status?.provisioning_job?.msg ?? "",
  }));
}

async function ofDeliveries(): Promise<readonly Wrong[]> {
  const { items } = await postern.eventDestinations.list({ limit: most, filter: 'obj.delivery.error != ""' }).page();
  return items.map(({ id, description, delivery }) => ({
    href: linkTo("events", id),
    fix: "Open the destination",
    what: `Events do not reach ${description || id}`,
    why: delivery.error,
  }));
}
