/** Shows the state of a domain's automatic certificate and any problem. */
import { Tag, Time } from "../ui/elements.tsx";
import type { ApiObject, JsonObject } from "./api.ts";
import { valueText } from "./parts.tsx";
import { linkTo } from "./router.ts";

export function CertificateProgress({ object }: { readonly object: ApiObject }) {
  const status = object["certificate_management_status"] as JsonObject | null | undefined;
  if (!status) return null;
  const job = status["provisioning_job"] as JsonObject | null;
  const certificate = object["certificate"] as { readonly id: string } | null;
  const check = status["challenge_type"];
  const why = job?.["error_code"];
  return (
    <section class="panel" aria-label="Certificate">
      <header>
        <h2 class="grow">Certificate</h2>
        {job ? <Tag tone={why ? "bad" : "info"}>{why ? "failed" : "under way"}</Tag> : <Tag tone="good">there</Tag>}
      </header>
      <div class="inside column">
        {certificate && (
          <p>
            Served now: <a href={linkTo("objects", "tls_certificate", certificate.id)}>{certificate.id}</a>
            {typeof check === "string" && `, obtained by ${check}`}
          </p>
        )}
        {job && (
          <>
            <p>{valueText(job["msg"])}</p>
            {typeof why === "string" && <p class="notice bad">The last attempt failed: {why}</p>}
            <p class="muted small">
              Started <When at={job["started_at"]} />; tried again <When at={job["retries_at"]} />.
            </p>
          </>
        )}
        {typeof status["renews_at"] === "string" && (
          <p class="muted small">
            Renewed <When at={status["renews_at"]} />.
          </p>
        )}
      </div>
    </section>
  );
}

function When({ at }: { readonly at: unknown }) {
  return typeof at === "string" ? <Time at={at} /> : <>on request</>;
}
