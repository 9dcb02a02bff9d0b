import type { JsonObject } from "../../lib/json.ts";
import { textOf } from "../calls/fetch.ts";
import { LoginRefusal, unknownIdentity } from "../calls/identity.ts";
import { isTeam, organizationNamed, teamNamed } from "../calls/memberships.ts";
import type { IdentityCall, OAuthProvider } from "./oauth-provider.ts";

const api = "https://api.github.com";
const headers = { accept: "application/vnd.github+json", "x-github-api-version": "2022-11-28" };
const pageSize = 100;
const maxPages = 20;

/** Tokens do not expire, so a check requests the data again. */
export const github: OAuthProvider = {
  name: "github",
  title: "GitHub",
  url: "https://github.com",
  authorizeUrl: "https://github.com/login/oauth/authorize",
  tokenUrl: "https://github.com/login/oauth/access_token",
  scopes: ({ memberships }) => ["read:user", "user:email", ...(memberships ? ["read:org"] : [])],
  pkce: true,
  otherAccount: { prompt: "select_account" },
  refreshes: false,
  async identity(call) {
    const { json } = await call.get(`${api}/user`, headers);
    const { id } = json;
    if (typeof id !== "number") throw new LoginRefusal("login_provider_error", "GitHub returned no user");
    const has = (scopes: readonly string[]): boolean => scopes.some((one) => call.scopes.includes(one));
    const emails = has(["user", "user:email"]) ? await readAllPages(call, "/user/emails") : [];
    const primary = emails.find((one) => one["primary"] === true);
    const isMember = has(["read:org", "write:org", "admin:org"]);
    return {
      ...unknownIdentity,
      subject: String(id),
      username: textOf(json, "login"),
      name: textOf(json, "name"),
      email: primary ? textOf(primary, "email") : "",
      emailVerified: primary?.["verified"] === true,
      memberships: isMember
        ? [
            ...listOrganizations(await readAllPages(call, "/user/orgs")),
            ...listTeams(await readAllPages(call, "/user/teams")),
          ]
        : [],
    };
  },
};

/** Reads all pages of a list until one is empty. */
async function readAllPages({ get }: IdentityCall, path: string): Promise<JsonObject[]> {
  const found: JsonObject[] = [];
  for (let page = 1; page <= maxPages; page += 1) {
    const { list } = await get(`${api}${path}?per_page=${pageSize}&page=${page}`, headers);
    if (!list || list.length === 0) break;
    found.push(...list.filter((one) => typeof one === "object" && one !== null));
    if (list.length < pageSize) break;
  }
  return found;
}

function listOrganizations(list: readonly JsonObject[]): string[] {
  return list.map((one) => organizationNamed(textOf(one, "login"))).filter((login) => login !== "" && !isTeam(login));
}

/** Each team as `organization/slug` and as its number. */
function listTeams(list: readonly JsonObject[]): string[] {
  return list.flatMap((team) => {
    const { id, organization } = team;
    const owner =
      typeof organization === "object" && organization !== null ? textOf(organization as JsonObject, "login") : "";
    const slug = textOf(team, "slug");
    return [
      ...(owner !== "" && slug !== "" ? [teamNamed(`${owner}/${slug}`)] : []),
      ...(typeof id === "number" ? [teamNamed(String(id))] : []),
    ];
  });
}
