/** A service at a TLS edge, a TCP edge, or an endpoint. */
import { postern } from "../api.ts";
import type { Description } from "../description.ts";
import { configurationChanges, trafficChanges } from "../live.ts";
import { Gone } from "../gone.tsx";
import { Failed, Head } from "../parts.tsx";
import { linkTo } from "../router.ts";
import { useData } from "../use-data.ts";
import { ServiceFacts } from "./facts.tsx";
import { nameOf, ofConnectionEdge, ofEndpoint } from "./services.ts";
import type { Service } from "./services.ts";

interface Props {
  readonly kindName: string;
  readonly id: string;
  readonly description: Description;
}

export function Connection({ kindName, id, description }: Props) {
  const found = useData(() => read(kindName, id), [kindName, id, configurationChanges.value, trafficChanges.value]);
  const kind = description.kinds.get(kindName);
  const service = found.value;
  return (
    <section class="column" aria-label="Service">
      <a class="back always" href="#/services">
        ‹ All services
      </a>
      <Head title={service ? nameOf(service) : "Service"} {...(service?.note && { doc: service.note })}>
        {kind && (
          <a class="button" href={linkTo("objects", kindName, id)}>
            All fields and rules
          </a>
        )}
      </Head>
      {found.isGone && kind ? <Gone kind={kind} id={id} /> : <Failed error={found.error} again={found.again} />}
      {service && !found.isGone && <ServiceFacts service={service} description={description} />}
    </section>
  );
}

async function read(kind: string, id: string): Promise<Service> {
  if (kind === "tls_edge") return ofConnectionEdge("tls_edge", await postern.edges.tls.get(id));
  if (kind === "tcp_edge") return ofConnectionEdge("tcp_edge", await postern.edges.tcp.get(id));
  return ofEndpoint(await postern.endpoints.get(id));
}
