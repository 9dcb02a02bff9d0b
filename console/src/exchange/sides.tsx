/** Shows a request beside its response. */
import { Tag } from "../ui/elements.tsx";
import { Body } from "./body.tsx";
import { cookiesOf, fieldOf, queryOf, valuesOf } from "./model.ts";
import type { ShownExchange, Headers } from "./model.ts";

interface SidesProps {
  readonly exchange: ShownExchange;
  /** Reveals credentials. Without it, they remain hidden. */
  readonly onReveal?: (() => void) | undefined;
}

export function Sides({ exchange, onReveal }: SidesProps) {
  return (
    <div class="sides">
      <Request exchange={exchange} onReveal={onReveal} />
      <Response exchange={exchange} onReveal={onReveal} />
    </div>
  );
}

function Request({ exchange: { request }, onReveal }: SidesProps) {
  const query = queryOf(request.uri);
  const cookies = cookiesOf(valuesOf(request.headers, "cookie").join("; "));
  return (
    <section class="message" aria-label="Request">
      <h2>Request</h2>
      {query.length > 0 && <Pairs title="Query" pairs={query} />}
      {cookies.length > 0 && <Pairs title="Cookies" pairs={cookies} />}
      <Fields headers={request.headers} onReveal={onReveal} />
      <Body message={request} title="Request body" />
    </section>
  );
}

function Response({ exchange: { response }, onReveal }: SidesProps) {
  return (
    <section class="message" aria-label="Response">
      <h2>Response {response && <span class="muted">{response.status}</span>}</h2>
      {response ? (
        <>
          <Fields headers={response.headers} onReveal={onReveal} />
          <Body message={response} title="Response body" />
          {response.trailers && <Fields headers={response.trailers} title="Trailers" onReveal={onReveal} />}
        </>
      ) : (
        <p class="muted">No response.</p>
      )}
    </section>
  );
}

function Pairs({
  title,
  pairs,
}: {
  readonly title: string;
  readonly pairs: readonly { name: string; value: string }[];
}) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <dl class="pairs box mono">
        {pairs.map(({ name, value }, at) => [<dt key={`${at}n`}>{name}</dt>, <dd key={`${at}v`}>{value}</dd>])}
      </dl>
    </section>
  );
}

interface FieldsProps {
  readonly headers: Headers;
  readonly title?: string;
  readonly onReveal: SidesProps["onReveal"];
}

function Fields({ headers, title = "Headers", onReveal }: FieldsProps) {
  return (
    <section aria-label={title}>
      <div class="row">
        <h3 class="grow">{title}</h3>
        {fieldOf(headers, "content-type") !== undefined && <Tag>{fieldOf(headers, "content-type")}</Tag>}
      </div>
      <dl class="pairs box mono">
        {Object.entries(headers).flatMap(([name, values]) =>
          values.map((value, at) => [
            <dt key={`${name}${at}n`}>{name}</dt>,
            <dd key={`${name}${at}v`}>
              {value === "(hidden)" && onReveal ? (
                <button type="button" class="tiny" onClick={onReveal}>
                  hidden: show
                </button>
              ) : (
                value
              )}
            </dd>,
          ]),
        )}
      </dl>
    </section>
  );
}
