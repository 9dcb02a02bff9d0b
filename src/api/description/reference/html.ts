import { escapeHtml } from "../../../lib/escape-html.ts";

/** Text that is already HTML. */
export interface Html {
  readonly html: string;
}

type HtmlPart = string | number | Html | readonly Html[] | undefined;

/** Escapes every part that is not `Html`, and removes the template's indentation. */
export function html(texts: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  return { html: texts.map((text, at) => text.replaceAll(/\n\s+/g, "\n") + renderPart(parts[at])).join("") };
}

function renderPart(part: HtmlPart): string {
  if (part === undefined) return "";
  if (typeof part === "string" || typeof part === "number") return escapeHtml(String(part));
  return "html" in part ? part.html : part.map((one) => one.html).join("");
}

/** Converts `` `code` `` in a sentence of the declarations. */
export function renderProse(text: string): Html {
  const parts = text.split("`");
  return {
    html: parts.map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>`.html : escapeHtml(part))).join(""),
  };
}
