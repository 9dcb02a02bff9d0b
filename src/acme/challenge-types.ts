/** Challenge types that a server which only accepts connections can fulfil. */
export const connectionChallenges = ["tls-alpn-01", "http-01"] as const;
/** All types. `dns-01` needs a DNS provider. */
export const challengeTypes = [...connectionChallenges, "dns-01"] as const;
export type ChallengeType = (typeof challengeTypes)[number];
