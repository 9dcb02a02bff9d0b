/** A link back to the service, for users who changed the cause of a denied request. */
import type { Request } from "../../../sdk/src/index.ts";
import { Command } from "../ui/elements.tsx";
import { curlWithAuthority } from "../ui/shell.ts";
import { postern } from "./api.ts";
import { useData } from "./use-data.ts";
import { visitedUrl } from "../ui/visited-url.ts";

interface AskAgainProps {
  readonly request: Request;
  /** Whether the site is an HTTPS edge instead of an endpoint. */
  readonly isOfEdge: boolean;
}

export function AskAgain({ request, isOfEdge }: AskAgainProps) {
  const { method, tunnel } = request;
  const origin = useData(() => originOf(request, isOfEdge), [request.id]);
  // The edge was deleted in the meantime.
  if (origin.value === undefined) return null;
  const url = `${origin.value}${request.path}`;
  return (
    <section class="column" aria-label="Ask again">
      <h2>Send the request to the service again</h2>
      {method === "GET" && (
        <span>
          <a class="button" href={url} target="_blank" rel="noreferrer">
            Open {url.replace("https://", "")} ↗
          </a>
        </span>
      )}
      <Command text={curlWithAuthority(url, method)} />
      {tunnel !== null && (
        <span>
          <button
            type="button"
            onClick={() => document.querySelector(`[aria-label="Captured"]`)?.scrollIntoView({ block: "start" })}
          >
            To the captured request and Replay
          </button>
        </span>
      )}
    </section>
  );
}

/** Returns the scheme, name and port of the request, which is stored with its host but without the port. */
async function originOf({ site_id: id, host }: Request, isOfEdge: boolean): Promise<string> {
  if (!isOfEdge) return new URL(visitedUrl((await postern.endpoints.get(id)).public_url, host)).origin;
  const { hostports } = await postern.edges.https.get(id);
  const fitting = [host, host.replace(/^[^.]+/, "*")];
  const found = hostports?.find((one) => fitting.includes(one.replace(/:\d+$/, "")));
  return new URL(`https://${host}${found?.match(/:\d+$/)?.[0] ?? ""}`).origin;
}
