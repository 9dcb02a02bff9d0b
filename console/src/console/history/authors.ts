/** Names of the authors of changes. */
import { postern, session } from "../api.ts";

/** Names of API keys, bot users and invitations by id. */
export type Authors = ReadonlyMap<string, string>;

const most = 100;

/** Loads what the session may see. */
export async function loadAuthors(): Promise<Authors> {
  const lists = [
    postern.apiKeys.list({ limit: most }).page(),
    postern.botUsers.list({ limit: most }).page(),
    postern.agentInvitations.list({ limit: most }).page(),
  ];
  const names = new Map<string, string>();
  for (const result of await Promise.allSettled<{ readonly items: readonly object[] }>(lists)) {
    if (result.status === "rejected") continue;
    for (const item of result.value.items as readonly { readonly id: string; description?: string; name?: string }[]) {
      names.set(item.id, item.description || item.name || "");
    }
  }
  return names;
}

const kinds: Readonly<Record<string, string>> = { ak: "API key", bot: "bot user", ainv: "invitation" };

/** `You`, `ann@example.com`, `key "deploy"`, `Postern`. */
export function authorText(principal: string, authors: Authors): string {
  if (principal === "system") return "Postern";
  if (principal === session.value?.api_key.id) {
    const name = session.value.api_key.description;
    return name === "" ? "You" : `You (${name})`;
  }
  const person = /^person (?:subject )?(.*)$/.exec(principal)?.[1];
  if (person !== undefined) return person === session.value?.person?.email ? `You (${person})` : person;
  const name = authors.get(principal);
  if (name) return name;
  const [prefix = ""] = principal.split("_");
  return `${kinds[prefix] ?? "Deleted key"} …${principal.slice(-6)}`;
}
