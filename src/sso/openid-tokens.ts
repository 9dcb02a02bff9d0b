/** Codes and tokens of the development identity provider. A code or refresh token works once. */
import { hash, timingSafeEqual } from "node:crypto";
import { Lru } from "../lib/collections/lru.ts";
import type { Person } from "./sample-people.ts";
import type { ProviderServices } from "./provider-services.ts";
import { replyJson } from "./provider-reply.ts";
import type { ProviderRequest, ProviderReply } from "./provider-reply.ts";
import { newToken } from "./sign-ins.ts";
import type { SignIn } from "./sign-ins.ts";
import { computeHalfHash } from "./signing-key.ts";

export const clientId = "postern-dev";
const maxKept = 1_000;
const codeMs = 60_000;
const tokenSeconds = 300;

interface Grant {
  readonly person: Person;
  readonly signIn: SignIn;
  readonly scope: string;
  readonly nonce: string | null;
}

export interface Code extends Grant {
  readonly redirectUri: string;
  readonly challenge: string;
  readonly madeAt: number;
}

export interface Tokens {
  /** Returns a code for the approved request. */
  newCode(code: Code): string;
  /** The token endpoint (RFC 6749 §3.2). */
  token(asked: ProviderRequest): ProviderReply;
  userinfo(asked: ProviderRequest): ProviderReply;
  /** OpenID Connect Back-Channel Logout 1.0 §2.4. */
  logoutToken(signIn: SignIn): string;
}

type TokenContext = Pick<ProviderServices, "issuer" | "now" | "keys" | "signIns">;

export function makeTokens({ issuer, now, keys, signIns }: TokenContext, clientSecret: string): Tokens {
  const codes = new Lru<string, Code>(maxKept);
  const refreshTokens = new Lru<string, Grant>(maxKept);
  const accessTokens = new Lru<string, Grant>(maxKept);

  const give = (grant: Grant): ProviderReply => {
    const access = newToken();
    accessTokens.set(access, grant);
    const refresh = newToken();
    refreshTokens.set(refresh, grant);
    const at = toSeconds(now());
    const claims = {
      iss: issuer,
      aud: clientId,
      sub: grant.person.id,
      iat: at,
      exp: at + tokenSeconds,
      auth_time: toSeconds(grant.signIn.at),
      sid: sidOf(grant.signIn.id),
      at_hash: computeHalfHash(access),
      ...(grant.nonce !== null && { nonce: grant.nonce }),
      ...claimsOf(grant.person),
    };
    return replyJson(200, {
      access_token: access,
      token_type: "Bearer",
      expires_in: tokenSeconds,
      refresh_token: refresh,
      scope: grant.scope,
      id_token: keys.current.token(claims),
    });
  };

  const token = (asked: ProviderRequest): ProviderReply => {
    const { form } = asked;
    if (!isClient(asked, clientSecret)) return replyJson(401, { error: "invalid_client" });
    if (form.get("grant_type") === "refresh_token") {
      const given = form.get("refresh_token") ?? "";
      const grant = refreshTokens.get(given);
      refreshTokens.delete(given);
      if (!grant || !signIns.byId(grant.signIn.id)) return replyJson(400, { error: "invalid_grant" });
      return give({ ...grant, nonce: null });
    }
    const code = form.get("code") ?? "";
    const grant = codes.get(code);
    codes.delete(code);
    const challenge = hash("sha256", form.get("code_verifier") ?? "", "base64url");
    const isGood =
      form.get("grant_type") === "authorization_code" &&
      grant !== undefined &&
      now() - grant.madeAt <= codeMs &&
      grant.redirectUri === form.get("redirect_uri") &&
      grant.challenge === challenge;
    return isGood ? give(grant) : replyJson(400, { error: "invalid_grant" });
  };

  const userinfo = ({ authorization }: ProviderRequest): ProviderReply => {
    const grant = accessTokens.get(/^Bearer (\S+)$/.exec(authorization)?.[1] ?? "");
    if (!grant || !signIns.byId(grant.signIn.id)) return replyJson(401, { error: "invalid_token" });
    return replyJson(200, { sub: grant.person.id, ...claimsOf(grant.person) });
  };

  return {
    newCode(given) {
      const code = newToken();
      codes.set(code, given);
      return code;
    },
    token,
    userinfo,
    logoutToken({ id, person }) {
      return keys.current.token(
        {
          iss: issuer,
          aud: clientId,
          iat: toSeconds(now()),
          exp: toSeconds(now()) + 120,
          jti: newToken(),
          sub: person.id,
          sid: sidOf(id),
          events: { "http://schemas.openid.net/event/backchannel-logout": {} },
        },
        "logout+jwt",
      );
    },
  };
}

function claimsOf({ name, email, isVerified, groups, id }: Person): object {
  return { name, preferred_username: id, groups, ...(email !== "" && { email, email_verified: isVerified }) };
}

/** Basic authentication or form parameters (RFC 6749 §2.3.1). */
function isClient({ authorization, form }: ProviderRequest, secret: string): boolean {
  const [, basic] = /^Basic (\S+)$/i.exec(authorization) ?? [];
  const [id = "", ...rest] = basic
    ? Buffer.from(basic, "base64").toString().split(":").map(decodeURIComponent)
    : [form.get("client_id") ?? "", form.get("client_secret") ?? ""];
  const [given, wanted] = [rest.join(":"), secret].map((text) => Buffer.from(hash("sha256", text, "hex")));
  return id === clientId && timingSafeEqual(given as Buffer, wanted as Buffer);
}

/** Returns an id of the session for services, which cannot be used as the cookie. */
function sidOf(id: string): string {
  return hash("sha256", id, "base64url").slice(0, 22);
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
