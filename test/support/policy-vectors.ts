/** The vectors of traffic policies as a file for `postern policy test`, with tokens and the keys that verify them. */
import { readFileSync } from "node:fs";
import { jwkOf, makeToken } from "./tokens.ts";

/** One hour later, by the clock of the cases. */
const expires = Date.UTC(2026, 0, 2, 4, 4, 5) / 1000;

/** The vectors as in the file, without tokens. */
const vectorsText = readFileSync(new URL("policy-vectors.yaml", import.meta.url), "utf8");

export function policyVectors(): string {
  const claims = { iss: "https://idp.example.test/", aud: "shop", sub: "u1", exp: expires };
  const keys = { "https://idp.example.test/jwks.json": { keys: [jwkOf("RS256", { kid: "k1" })] } };
  const other = makeToken("RS256", { ...claims, iss: "https://idp.example.test" }, { kid: "k1" });
  return vectorsText
    .replace("- id: V13\n", `- id: V13\n  key_sets: ${JSON.stringify(keys)}\n`)
    .replace('{{token}}"', `${makeToken("RS256", claims, { kid: "k1" })}"`)
    .replace("{{token with iss https://idp.example.test}}", other);
}
