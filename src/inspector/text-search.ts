/** Looking for a text in what was kept. */
import type { BodyCopy, Exchange } from "./exchange.ts";
import { linesOf, renderHead } from "./secrets.ts";

/** Without regard to the case of ASCII letters; as UTF-8. */
export function hasText({ head, body, response }: Exchange, text: string): boolean {
  const wanted = Buffer.from(text).toString("latin1").toLowerCase();
  return (
    headHas(head, wanted) ||
    bodyHas(body, wanted) ||
    (response !== undefined && (headHas(response.head, wanted) || bodyHas(response.body, wanted)))
  );
}

/** Credentials are left out: what finds them would tell them, letter by letter. */
function headHas(head: Buffer, wanted: string): boolean {
  return renderHead(linesOf(head, false)).toLowerCase().includes(wanted);
}

function bodyHas(body: BodyCopy, wanted: string): boolean {
  return body.bytes().toString("latin1").toLowerCase().includes(wanted);
}
