/** A service at a TLS edge, a TCP edge, or an endpoint. */
import { useState } from "preact/hooks";
import { Command } from "../../ui/elements.tsx";
import { quoteForShell } from "../../ui/shell.ts";
import { postern } from "../api.ts";
import type { Description } from "../description.ts";
import { configurationChanges, trafficChanges } from "../live-changes.ts";
import { Gone } from "../gone.tsx";
import { Failed, Head } from "../parts.tsx";
import { linkTo } from "../router.ts";
import { useData } from "../use-data.ts";
import { ServiceFacts } from "./facts.tsx";
import { Protect } from "./protect.tsx";
import { nameOf, ofConnectionEdge, ofEndpoint } from "./services.ts";
import type { Service } from "./services.ts";

interface Props {
  readonly kindName: string;
  readonly id: string;
  readonly description: Description;
}

export function Connection({ kindName, id, description }: Props) {
  const found = useData(
    () => readService(kindName, id),
    [kindName, id, configurationChanges.value, trafficChanges.value],
  );
  const [protects, setProtects] = useState(false);
  const kind = description.kinds.get(kindName);
  const service = found.value;
  // A cloud endpoint is read as an endpoint, and changed by a separate operation.
  const changed = kindName === "endpoint" ? kind && { ...kind, update: "updateCloudEndpoint" } : kind;
  const isAgents = kindName === "endpoint" && service?.isCloud === false;
  return (
    <section class="column" aria-label="Service">
      <a class="back always" href="#/services">
        ‹ All services
      </a>
      <Head title={service ? nameOf(service) : "Service"} {...(service?.note && { doc: service.note })}>
        {kind && (
          <a class="button" href={linkTo("objects", kindName, id)}>
            All fields
          </a>
        )}
      </Head>
      {found.isGone && kind ? <Gone kind={kind} id={id} /> : <Failed error={found.error} again={found.again} />}
      {service && !found.isGone && (
        <ServiceFacts service={service} description={description}>
          {isAgents ? (
            <OfAgent service={service} />
          ) : (
            <span>
              <button type="button" class="tiny" onClick={() => setProtects(true)}>
                {service.access === "everyone" ? "Protect …" : "Change …"}
              </button>
            </span>
          )}
        </ServiceFacts>
      )}
      {protects && service && changed && (
        <Protect
          name={nameOf(service)}
          kind={changed}
          parts={[{ id, label: nameOf(service) }]}
          isHttp={service.protocol.startsWith("http")}
          description={description}
          onClose={() => {
            setProtects(false);
            found.again();
          }}
        />
      )}
    </section>
  );
}

/** Shows the command that changes the rules of an agent's endpoint. */
function OfAgent({ service: { protocol, addresses, leadsTo = "" } }: { readonly service: Service }) {
  const command = protocol === "https" ? "http" : protocol;
  const target = URL.parse(leadsTo)?.host ?? leadsTo;
  return (
    <>
      <span class="muted small">The agent sets these rules. To change them, start it with options such as:</span>
      <Command
        text={`npx postern ${command} ${quoteForShell(target)} --url ${quoteForShell(addresses[0] ?? "")} --cidr-allow 203.0.113.0/24`}
      />
    </>
  );
}

async function readService(kind: string, id: string): Promise<Service> {
  if (kind === "tls_edge") return ofConnectionEdge("tls_edge", await postern.edges.tls.get(id));
  if (kind === "tcp_edge") return ofConnectionEdge("tcp_edge", await postern.edges.tcp.get(id));
  return ofEndpoint(await postern.endpoints.get(id));
}
