/** Shows the current state of an edge: the certificate of each name, and the agents of its routes. */
import { useState } from "preact/hooks";
import type { HTTPSEdge, Ref, ReservedDomain } from "../../../sdk/src/index.ts";
import { Tag } from "../ui/elements.tsx";
import { callOperation, postern } from "./api.ts";
import type { ApiObject } from "./api.ts";
import { kindOfId, titleOf } from "./description.ts";
import type { Description } from "./description.ts";
import { labelOf } from "./label.ts";
import { configurationChanges, useEvery } from "./live-changes.ts";
import { Failed } from "./parts.tsx";
import { linkTo } from "./router.ts";
import { useData } from "./use-data.ts";

const everyMs = 5_000;
/** Maximum number of names, and of backends, that are shown. */
const most = 12;

interface Props {
  readonly edge: HTTPSEdge;
  readonly description: Description;
}

export function EdgeState({ edge, description }: Props) {
  const [asked, setAsked] = useState(0);
  useEvery(everyMs, () => setAsked((count) => count + 1), []);
  const on = [edge.id, asked, configurationChanges.value];
  const hosts = uniqueTexts((edge.hostports ?? []).map((one) => one.replace(/:\d+$/, "")));
  const domains = useData(() => domainsOf(hosts), on);
  const ids = uniqueTexts(edge.routes.flatMap(({ backend }) => (backend ? [backend.backend.id] : [])));
  const backends = useData(() => Promise.all(ids.map((id) => backendOf(id, description))), on);
  if (hosts.length + ids.length === 0) return null;
  return (
    <section class="panel" aria-label="Status">
      <Failed error={domains.error || backends.error} />
      <ul class="plain-list">
        {domains.value &&
          hosts.map((host) => (
            <li key={host} class="row">
              <span class="mono cut grow">{host}</span>
              <CertificateState domain={findCovering(host, domains.value ?? [])} />
            </li>
          ))}
        {backends.value?.map((one) => (
          <li key={one.id} class="row">
            <a class="cut grow" href={linkTo("objects", one.kind, one.id)}>
              {`${titleOf(one.kind)} ${one.label}`}
            </a>
            {one.tunnels && <Serving tunnels={one.tunnels} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function CertificateState({ domain }: { readonly domain: ReservedDomain | undefined }) {
  const job = domain?.certificate_management_status?.provisioning_job;
  if (domain?.certificate) {
    return (
      <>
        <a href={linkTo("objects", "tls_certificate", domain.certificate.id)}>its certificate</a>
        <Tag tone={job?.error_code ? "bad" : "good"}>{job?.error_code ? "not renewed" : "there"}</Tag>
      </>
    );
  }
  if (!domain || !job) return <span class="muted small">certificate from the server&apos;s own CA</span>;
  return (
    <>
      <a href={linkTo("objects", "reserved_domain", domain.id)}>no certificate from a public CA yet</a>
      <Tag tone={job.error_code ? "bad" : "info"}>{job.error_code ? "failed" : "under way"}</Tag>
    </>
  );
}

function Serving({ tunnels }: { readonly tunnels: readonly Ref[] }) {
  const [one] = tunnels;
  if (!one) return <Tag tone="warn">no agent is online</Tag>;
  return (
    <>
      {tunnels.length === 1 ? (
        <a href={linkTo("objects", "tunnel", one.id)}>its tunnel</a>
      ) : (
        <span class="muted small">{tunnels.length} tunnels</span>
      )}
      <Tag tone="good">served</Tag>
    </>
  );
}

function uniqueTexts(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].slice(0, most);
}

async function domainsOf(hosts: readonly string[]): Promise<readonly ReservedDomain[]> {
  const names = hosts.flatMap((host) => [host, wildcardOf(host)]);
  if (names.length === 0) return [];
  return (await postern.reservedDomains.list({ limit: 100, filter: `obj.domain in ${JSON.stringify(names)}` }).page())
    .items;
}

function findCovering(host: string, domains: readonly ReservedDomain[]): ReservedDomain | undefined {
  return domains.find(({ domain }) => domain === host) ?? domains.find(({ domain }) => domain === wildcardOf(host));
}

function wildcardOf(host: string): string {
  return host.replace(/^[^.]+/, "*");
}

interface Backend {
  readonly id: string;
  readonly kind: string;
  readonly label: string;
  /** Tunnels, for a backend that agents serve. */
  readonly tunnels: readonly Ref[] | undefined;
}

async function backendOf(id: string, description: Description): Promise<Backend> {
  const kind = kindOfId(id, description) ?? "";
  const object = (await callOperation(description.kinds.get(kind)?.get ?? "", id)) as ApiObject;
  const tunnels = object["tunnels"] as unknown;
  return { id, kind, label: labelOf(object), tunnels: Array.isArray(tunnels) ? (tunnels as Ref[]) : undefined };
}
