/** The complete list of OAuth providers, each in its own file. */
import { amazon } from "./amazon.ts";
import { facebook } from "./facebook.ts";
import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";
import { google } from "./google.ts";
import { linkedin } from "./linkedin.ts";
import { microsoft } from "./microsoft.ts";
import type { OAuthProvider } from "./oauth-provider.ts";
import { twitch } from "./twitch.ts";

const list: readonly OAuthProvider[] = [amazon, facebook, github, gitlab, google, linkedin, microsoft, twitch];

export const oauthProviders: ReadonlyMap<string, OAuthProvider> = new Map(list.map((one) => [one.name, one]));

/** The scopes to request: those configured, or the default, and those that the id_token needs. */
export function scopesAsked(
  provider: OAuthProvider,
  configured: readonly string[],
  needs: { readonly memberships: boolean; readonly refreshes: boolean },
): readonly string[] {
  if (configured.length === 0) return provider.scopes(needs);
  return provider.openid && !configured.includes("openid") ? ["openid", ...configured] : configured;
}
