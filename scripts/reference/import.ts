/** Results of `postern import` for each documented key, from the tables of the import itself. */
import { caddyKeys, caddyRows } from "../../src/import/caddy/caddy-keys.ts";
import { cloudflaredKeys } from "../../src/import/cloudflared/cloudflared-keys.ts";
import { frpcKeys } from "../../src/import/frp/frpc-keys.ts";
import { frpsKeys } from "../../src/import/frp/frps-keys.ts";
import type { KeyRow } from "../../src/import/ledger/ledger.ts";
import { pangolinKeys } from "../../src/import/pangolin/pangolin-keys.ts";
import { toCode, renderPage, renderTable } from "./markdown.ts";

const sources: readonly (readonly [title: string, introduction: string, rows: readonly KeyRow[]])[] = [
  ["frpc", "Keys of `frpc.toml`. Keys of the INI form have the same rows under their TOML names.", frpcKeys],
  ["frps", "Keys of `frps.toml`. They become settings of `postern serve`.", frpsKeys],
  ["cloudflared", "Keys of `config.yml`.", cloudflaredKeys],
  ["Pangolin", "Keys of blueprints.", pangolinKeys],
  ["Caddy: sites", "Handlers and matchers in the output of `caddy adapt`.", caddyRows],
  ["Caddy: everything else", "Keys outside of the routes.", caddyKeys],
];

export function importPage(): string {
  const parts = sources.map(([title, introduction, rows]) => {
    const cells = rows.map(({ key, kind, text, guardsAccess }) => [
      title === "Caddy: sites" ? key : toCode(key),
      guardsAccess ? `${kind} (protects access)` : kind,
      text,
    ]);
    return `## ${title}\n\n${introduction}\n\n${renderTable(["Key", "Result", "What it becomes, or why not"], cells)}`;
  });
  const introduction =
    "What `postern import` makes of each documented key. `[]` stands for every item of a list, `*` for a name that you choose. A key that includes others, such as `auth`, stands for all of them. The report of an import says more where the value matters. The guide is [Import your configuration](../guides/import.md).";
  return renderPage("Imported keys", introduction, parts);
}
