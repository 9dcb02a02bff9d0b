import { html } from "./html.ts";
import type { Html } from "./html.ts";

/**
 * A table that scrolls if it is too wide.
 * @param rows one `tr` each
 */
export function renderTable(columns: readonly string[], rows: readonly Html[]): Html {
  return html`<div class="scroll">
    <table>
      <tr>
        ${columns.map((column) => html`<th>${column}</th> `)}
      </tr>
      ${rows}
    </table>
  </div>`;
}
